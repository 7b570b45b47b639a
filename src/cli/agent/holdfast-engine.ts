/**
 * Connects the agent to holdfast's engine over the control socket. This file decides how unicast or multicast is read
 * from the engine's status, and which answers mean a refusal. This file knows nothing about the configuration that is
 * handed over.
 */

import type { Desired } from '../../cluster/decisions/engine/desired.ts'
import { documentText } from '../../cluster/decisions/engine/document.ts'
import type { EngineClient, EngineStatus, HandedOver } from '../../cluster/runtime/engine-client.ts'
import { ask, listen } from '../../files/control-client.ts'
import { handOver } from '../configure.ts'

const WITHIN = 5_000
const WHO = 'holdfast agent'
/** Pattern of the names that desired-state.ts gives to ingress routers. */
const INGRESS = /_INGRESS_\d+$/

export function holdfastEngine(socket: string, options: { readonly native: boolean }): EngineClient {
  return {
    async look() {
      const { status, body } = await ask(socket, { path: '/v1/status', within: WITHIN })
      if (status !== 200) throw new Error(`the engine at ${socket} answered ${status}`)
      return sightIn(body)
    },
    async handOver(desired: Desired): Promise<HandedOver> {
      const { status, body } = await handOver(socket, documentText(desired, options), { by: WHO })
      return status === 200 ? { accepted: true } : refusalIn(status, body)
    },
    async gone(signal) {
      // The content of the events is not used. The end of the stream shows that the engine has ended.
      await listen(socket, '/v1/events', () => {}, signal)
      return 'the engine has closed its control socket'
    },
    close() {},
  }
}

function sightIn(body: string): EngineStatus {
  const { routers } = fieldsOf(JSON.parse(body))
  const all: readonly unknown[] = Array.isArray(routers) ? routers : []
  const { transport } = fieldsOf(all[0])
  if (typeof transport !== 'string') return { configured: false, mode: undefined, ingress: false }
  const ingress = all.map(fieldsOf).some(({ name, departing }) => INGRESS.test(String(name)) && departing !== true)
  return { configured: true, mode: transport.startsWith('multicast') ? 'multicast' : 'unicast', ingress }
}

/**
 * Reads the engine's answer to a refused configuration. The fields of the answer are written in live-configuration.ts.
 * The fields of the answer say whether the engine has checked the configuration.
 */
export function refusalIn(status: number, body: string): HandedOver {
  try {
    const { problems, fault, reason } = fieldsOf(JSON.parse(body))
    const failed = fault === 'failed'
    if (Array.isArray(problems) && problems.length > 0) {
      const texts = problems.map((problem: unknown) => String(fieldsOf(problem).message ?? JSON.stringify(problem)))
      return { accepted: false, problems: texts, failed }
    }
    if (typeof reason === 'string') return { accepted: false, problems: [reason], failed }
  } catch {
    // The engine's answer is not JSON but plain text.
  }
  return { accepted: false, problems: [`${body.trim()} (${status})`] }
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {}
