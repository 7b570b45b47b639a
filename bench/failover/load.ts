/**
 * What makes a healthy group look ill: programs that want every CPU, and advertisements that do not arrive. Decides how
 * each is done to the lab; both end with it at the latest. Refuses to know what comes of it.
 */
import { nft } from '../../src/lab/ip.ts'
import type { Lab } from '../../src/lab/lab.ts'

/**
 * Loops without a system call, on the machine that all routers share; each a session of its own, as a service is (a kernel
 * with autogroup divides time between sessions). Returns what ends them.
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
        // It ended with the lab.
      }
    }
  }
}

/** The bridge forgets one in so many, for each listener by itself; nobody on a router is told. */
export function loseAdvertisements(lab: Lab, percent: number): void {
  const lost = ['ether type ip ip protocol 112', 'ether type ip6 ip6 nexthdr 112'].map(
    (match) => `${match} numgen random mod 100 < ${percent} counter drop`,
  )
  const chain = `chain lossy {\ntype filter hook forward priority 0;\n${lost.join('\n')}\n}`
  nft(lab.bridge, `table bridge loss {\n${chain}\n}\n`)
}
