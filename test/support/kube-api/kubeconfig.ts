/** Writes a kubeconfig file for the stand-in of the Kubernetes API. */
import { writeFileSync } from 'node:fs'

export type KubeconfigPlan = {
  readonly server: string
  readonly token?: string
  /** Path of a file with the token. A relative path starts at the folder of the kubeconfig. */
  readonly tokenFile?: string
  readonly caFile?: string
  readonly certFile?: string
  readonly keyFile?: string
  readonly tlsServerName?: string
}

export function writeKubeconfig(file: string, plan: KubeconfigPlan): string {
  const { server, token, tokenFile, caFile, certFile, keyFile, tlsServerName } = plan
  const trust = caFile === undefined ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority': caFile }
  const cluster = { server, ...trust, ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }) }
  const user = { token, tokenFile, 'client-certificate': certFile, 'client-key': keyFile }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined)) }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  // The file contains JSON, which is also YAML.
  writeFileSync(file, JSON.stringify(config))
  return file
}
