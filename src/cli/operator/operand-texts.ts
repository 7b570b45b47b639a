/** Reads the manifests and templates of deploy/ that the operator places on the nodes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OperandTexts } from '../../cluster/decisions/operator/operands.ts'
import { packageRoot } from '../../lab/installation.ts'

export function operandTexts(): OperandTexts {
  const textOf = (...path: readonly string[]) => readFileSync(join(packageRoot(), 'deploy', ...path), 'utf8')
  return {
    haproxyPod: textOf('static-pod', 'openshift-haproxy.yaml'),
    haproxyTemplate: textOf('haproxy', 'haproxy.cfg.tmpl'),
    corednsPod: textOf('dns', 'openshift-coredns.yaml'),
    corednsTemplate: textOf('dns', 'Corefile.tmpl'),
  }
}
