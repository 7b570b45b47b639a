/**
 * keepalived as the agent's engine. keepalived gets a file and an order, and never answers. For this reason each
 * configuration that can be written counts as accepted, and the connection is never lost. keepalived's file is the
 * configuration in force (M8).
 */
import { messageOf } from '../../base/message-of.ts'
import type { Desired } from '../decisions/engine/desired.ts'
import { modeIn } from '../decisions/engine/mode.ts'
import type { RenderedText } from '../decisions/engine/rendered-text.ts'
import type { EngineClient, HandedOver } from './engine-client.ts'
import type { KeepalivedClient } from './keepalived-client.ts'
import { textIn } from './machine.ts'

/**
 * `written`: returns the text of keepalived.conf, or the reason why there is none. If there is no text, the file stays.
 */
export function keepalivedEngine(
  file: string,
  client: KeepalivedClient,
  written: (desired: Desired) => RenderedText,
): EngineClient {
  return {
    async look() {
      const mode = modeIn(textIn(file))
      return { configured: mode !== undefined, mode }
    },
    async handOver(desired: Desired): Promise<HandedOver> {
      try {
        const rendered = written(desired)
        if ('problem' in rendered) return { accepted: false, problems: [rendered.problem] }
        client.handOver(rendered.text)
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
