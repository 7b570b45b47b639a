/**
 * Disturbs a healthy group: with programs that use every CPU, and with lost advertisements. This file decides how both
 * disturbances are made in the lab. CPU load and packet loss end with the lab at the latest. This file does not know
 * the consequences.
 */
import { nft } from '../../src/lab/ip.ts'
import type { Lab } from '../../src/lab/lab.ts'

/**
 * Starts `count` endless loops on the machine that all routers share. Every loop has a separate session, like a
 * service, because a kernel with autogroup divides CPU time between sessions. Returns the function that ends the loops.
 */
export function startBusyLoops(lab: Lab, count: number): () => void {
  const loops = Array.from({ length: count }, (_, i) =>
    lab.spawn(lab.router(1 + (i % lab.routers.length)), ['sh', '-c', 'while :; do :; done'], { stdio: 'ignore' }),
  )
  return () => {
    for (const { pid } of loops) {
      try {
        if (pid !== undefined) process.kill(pid, 'SIGKILL')
      } catch {
        // The process has already ended, together with the lab.
      }
    }
  }
}

/**
 * Makes the bridge drop this percentage of the advertisements, independently for each receiver. The sending router does
 * not notice the loss.
 */
export function loseAdvertisements(lab: Lab, percent: number): void {
  const lost = ['ether type ip ip protocol 112', 'ether type ip6 ip6 nexthdr 112'].map(
    (match) => `${match} numgen random mod 100 < ${percent} counter drop`,
  )
  const chain = `chain lossy {\ntype filter hook forward priority 0;\n${lost.join('\n')}\n}`
  nft(lab.bridge, `table bridge loss {\n${chain}\n}\n`)
}
