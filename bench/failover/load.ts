/**
 * Load for a healthy group: programs that use every CPU, and advertisements that are lost. This file decides how each
 * is done to the lab; both end with it at the latest. This file does not know the consequences.
 */
import { nft } from '../../src/lab/ip.ts'
import type { Lab } from '../../src/lab/lab.ts'

/**
 * Starts loops without a system call on the machine that all routers share. Each has a session of its own, like a
 * service (a kernel with autogroup divides time between sessions). Returns the function that ends them.
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
        // The process ended with the lab.
      }
    }
  }
}

/** Makes the bridge drop this share of advertisements, for each listener independently. The routers do not notice. */
export function loseAdvertisements(lab: Lab, percent: number): void {
  const lost = ['ether type ip ip protocol 112', 'ether type ip6 ip6 nexthdr 112'].map(
    (match) => `${match} numgen random mod 100 < ${percent} counter drop`,
  )
  const chain = `chain lossy {\ntype filter hook forward priority 0;\n${lost.join('\n')}\n}`
  nft(lab.bridge, `table bridge loss {\n${chain}\n}\n`)
}
