/**
 * keepalived as the agent's engine. keepalived gets a file and an order, and never answers. So each configuration that
 * can be written counts as accepted, and the connection is never lost. keepalived's file is the configuration in force
 * (M8).
 */
import { messageOf } from '../../base/message-of.ts'
import type { Desired } from '../decisions/engine/desired.ts'
import { keepalivedText } from '../decisions/engine/keepalived-text.ts'
import { modeIn } from '../decisions/engine/mode.ts'
import type { EngineClient, HandedOver } from './engine-client.ts'
import type { KeepalivedClient } from './keepalived-client.ts'
import { textIn } from './machine.ts'

export function keepalivedEngine(file: string, client: KeepalivedClient): EngineClient {
  return {
    async look() {
      const mode = modeIn(textIn(file))
      return { configured: mode !== undefined, mode }
    },
    async handOver(desired: Desired): Promise<HandedOver> {
      try {
        client.handOver(keepalivedText(desired))
        return { accepted: true }
      } catch (error) {
        return { accepted: false, problems: [messageOf(error)] }
      }
    },
    gone: (signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('the agent ends'), { once: true })),
    close: () => client.close(),
  }
}
