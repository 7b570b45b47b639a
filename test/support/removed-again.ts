/** Simulates a program that removes the VIP of a host again and again. A process start for each removal would be slow on a busy machine. */
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'

const EVERY = 20

/** Removes the VIP every 20 ms, if it is there. Returns a function that ends this. */
export function removeRepeatedly(lab: Lab, host: Host): () => void {
  const { stdin } = lab.spawn(host, ['ip', '-force', '-batch', '-'], { stdio: ['pipe', 'ignore', 'ignore'] })
  const timer = setInterval(() => stdin?.write(`address delete ${LAB_VIP}/32 dev eth0\n`), EVERY)
  const stop = () => {
    clearInterval(timer)
    stdin?.end()
  }
  // The lab ends the program if the test fails.
  stdin?.once('error', stop)
  return stop
}
