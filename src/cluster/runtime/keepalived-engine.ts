/**
 * keepalived as the engine: it is told by its file and a word, and never answers. So what can be written down is accepted,
 * and it is never gone. What its file says now is what is in force (M8).
 */
import { messageOf } from '../../base/message-of.ts'
import type { Desired } from '../decisions/engine/desired.ts'
import { keepalivedText } from '../decisions/engine/keepalived-text.ts'
import { modeIn } from '../decisions/engine/mode.ts'
import type { EngineDoor, HandedOver } from './engine-door.ts'
import type { KeepalivedDoor } from './keepalived-door.ts'
import { textIn } from './machine.ts'

export function keepalivedEngine(file: string, door: KeepalivedDoor): EngineDoor {
  return {
    async look() {
      const mode = modeIn(textIn(file))
      return { configured: mode !== undefined, mode }
    },
    async handOver(desired: Desired): Promise<HandedOver> {
      try {
        door.handOver(keepalivedText(desired))
        return { accepted: true }
      } catch (error) {
        return { accepted: false, problems: [messageOf(error)] }
      }
    },
    gone: (signal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve('the agent ends'), { once: true })),
    close: () => door.close(),
  }
}
