/**
 * Makes the MachineConfigs by which the Machine Config Operator writes HAProxy and CoreDNS as static pods to the nodes. The
 * manifests are those of deploy/, with the values of this cluster in the place of the values that an administrator edits. This
 * file decides the names, paths and roles, and when a pod counts as rolled out (docs/adr/0104). Pure.
 */
import type { ClusterNode } from '../cluster-node.ts'
import { ARBITER_LABEL, CONFIG_ROLES, isControlPlane } from '../engine/upstream-names.ts'
import { vipPairs } from '../engine/vip-pairs.ts'
import type { ClusterPlan } from './cluster-plan.ts'
import type { Migration } from './migration.ts'
import { type OperandPod, REVISION, type Task } from './operand-pod.ts'

/** Texts of the shipped manifests and templates. */
export type OperandTexts = {
  readonly haproxyPod: string
  readonly haproxyTemplate: string
  readonly corednsPod: string
  readonly corednsTemplate: string
}

/** Images by their name in the shipped manifests. */
export type OperandImages = {
  readonly holdfast: string
  readonly 'holdfast-openshift': string
  readonly coredns: string
}

export type OperandSource = { readonly texts: OperandTexts; readonly images: OperandImages }

/** A static pod that should run. `revision` changes with the text of its manifest or its template. */
export type Operand = { readonly task: Task; readonly manifest: string; readonly revision: string }
export type OperandConfigs = {
  readonly configs: readonly { readonly name: string; readonly object: Readonly<Record<string, unknown>> }[]
  readonly operands: readonly Operand[]
}

const configName = (role: string): string => `98-${role}-hosted-net-services`

const MANIFESTS = '/etc/kubernetes/manifests'
const DISABLED = '/etc/kubernetes/disabled-manifests'
const RESOURCES = '/etc/kubernetes/static-pod-resources'

/**
 * Returns the MachineConfigs, or the reason why they cannot be made. `haproxy`: the order of the operator. `digest` returns
 * a short text that differs for different inputs.
 */
export function operandConfigs(
  { images, texts }: OperandSource,
  plan: ClusterPlan,
  haproxy: Migration['haproxy'],
  digest: (text: string) => string,
): OperandConfigs | { readonly problem: string } {
  const { apiInt, apiVips, infraNamespace, ingressVips } = plan
  if (infraNamespace === undefined) return { problem: `the platform ${plan.platform} has no namespace for static pods` }
  if (apiInt === undefined) return { problem: 'Infrastructure has no usable status.apiServerInternalURI' }
  // With other VIPs the programs in the pods end, and then no node has an answer for any name.
  const problems = [...plan.problems, ...vipPairs({ api: apiVips, ingress: ingressVips }).problems]
  if (problems.length > 0) return { problem: problems.join('; ') }
  if (apiVips.length === 0) return { problem: 'Infrastructure has no API VIP' }
  const edit = (manifest: string, template: string) => {
    const text = edited(manifest, { apiInt, images, infraNamespace, plan })
    const revision = digest(text + template)
    return { revision, text: text.replace('\n  annotations:\n', `\n  annotations:\n    ${REVISION}: "${revision}"\n`) }
  }
  const coredns = edit(texts.corednsPod, texts.corednsTemplate)
  const balancer = edit(texts.haproxyPod, texts.haproxyTemplate)
  const everywhere = [
    fileOf(`${MANIFESTS}/coredns.yaml`, coredns.text),
    fileOf(`${RESOURCES}/coredns/Corefile.tmpl`, texts.corednsTemplate),
  ]
  const controlPlane = [
    ...everywhere,
    fileOf(`${MANIFESTS}/haproxy.yaml`, haproxy === 'Running' ? balancer.text : STOPPED),
    ...(haproxy === 'Running' ? [] : [fileOf(`${DISABLED}/haproxy.yaml`, balancer.text)]),
    fileOf(`${RESOURCES}/haproxy/haproxy.cfg.tmpl`, texts.haproxyTemplate),
  ]
  const names: Operand = { task: 'coredns', manifest: 'coredns.yaml', revision: coredns.revision }
  const lb: Operand = { task: 'api-lb', manifest: 'haproxy.yaml', revision: balancer.revision }
  return {
    configs: [configOf(CONFIG_ROLES.controlPlane, controlPlane), configOf(CONFIG_ROLES.worker, everywhere)],
    operands: haproxy === 'Running' ? [names, lb] : [names],
  }
}

/**
 * Content of haproxy.yaml while HAProxy is stopped. Without this file the MachineConfig of the release would bring its own
 * haproxy.yaml back. kubelet starts no pod from a file without an object.
 */
const STOPPED = `# HAProxy is stopped: an external load balancer has the API (HostedNetServices cluster). The manifest is in ${DISABLED}.\n`

type Values = {
  readonly apiInt: string
  readonly infraNamespace: string
  readonly images: OperandImages
  readonly plan: ClusterPlan
}

/** Returns a shipped manifest with the values of this cluster, and without the comments about its lines to edit. */
function edited(manifest: string, { apiInt, images, infraNamespace, plan }: Values): string {
  const labels = infraNamespace.replace(/^openshift-/, '')
  return manifest
    .replaceAll(/^ *#.*\n/gm, '')
    .replaceAll('openshift-kni-infra', () => infraNamespace)
    .replaceAll('kni-infra-', () => `${labels}-`)
    .replaceAll('api-int.CLUSTER.DOMAIN', () => apiInt)
    .replaceAll(/--api-vips=\S+/g, () => `--api-vips=${plan.apiVips.join(',')}`)
    .replaceAll(/--ingress-vips=\S+/g, () => `--ingress-vips=${plan.ingressVips.join(',')}`)
    .replaceAll(/registry\.example\.com\/([a-z-]+):\S+/g, (text, name: string) =>
      name in images ? images[name as keyof OperandImages] : text,
    )
}

const fileOf = (path: string, text: string) => ({
  ...{ path, mode: 0o644, overwrite: true },
  contents: { source: `data:,${encodeURIComponent(text)}` },
})

const configOf = (role: string, files: readonly unknown[]) => ({
  name: configName(role),
  object: {
    ...{ apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig' },
    metadata: { name: configName(role), labels: { 'machineconfiguration.openshift.io/role': role } },
    spec: { config: { ignition: { version: '3.2.0' }, storage: { files } } },
  },
})

/** Returns a text for each manifest that does not run in its present revision on each of its nodes. */
export function rolloutTexts(
  operands: readonly Operand[],
  nodes: readonly ClusterNode[],
  pods: readonly OperandPod[],
): readonly string[] {
  return operands.flatMap(({ manifest, revision, task }) => {
    const behind = nodes
      .filter(({ labels }) => getsOperands(labels))
      .filter(({ labels }) => task !== 'api-lb' || isControlPlane(labels))
      .filter(({ name }) => !pods.some((pod) => pod.node === name && isRolledOut(pod, task, revision)))
      .map(({ name }) => name)
    return behind.length === 0 ? [] : [`${manifest} is rolled out; waiting for ${behind.sort().join(', ')}`]
  })
}

/** Tells whether a node's pool gets one of the two MachineConfigs. The pool of arbiters gets none, and Windows nodes have no pool. */
export const getsOperands = (labels: ClusterNode['labels']): boolean =>
  (labels['kubernetes.io/os'] ?? 'linux') === 'linux' && !(ARBITER_LABEL in labels)

const isRolledOut = (pod: OperandPod, task: Task, revision: string): boolean =>
  pod.isOurs && pod.task === task && pod.revision === revision && pod.isReady
