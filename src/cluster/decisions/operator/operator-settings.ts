/** Settings of `holdfast operator`, from its command line and environment. */
import type { LogFormat } from '../../../config/config.ts'
import type { OperandImages } from './operands.ts'

export type OperatorSettings = {
  /** Path of the kubeconfig; `undefined`: the token of the pod is used. */
  readonly kubeconfig: string | undefined
  /** Namespace of the Lease, which is the operator's own. */
  readonly namespace: string
  /** Version that ClusterOperator reports when nothing is in progress. */
  readonly version: string
  readonly apiPort: number
  /** Images of the static pods that the operator places; `undefined`: it places none. */
  readonly images: OperandImages | undefined
  /** Milliseconds for which clients may use the old address of a load balancer. */
  readonly graceMs: number
  /** Name of the operator in the Lease, without the random part. */
  readonly name: string
  /** Address and port of the metrics; `undefined`: no port is opened. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** Format of the log; `undefined`: the format is chosen by the output. */
  readonly logFormat: LogFormat | undefined
}

/** Namespace of the operator in deploy/operator. */
export const OPERATOR_NAMESPACE = 'openshift-cluster-hosted-net-services'
