/** Asks CoreDNS on this node whether it is healthy. */
import { get } from 'node:http'

/** CoreDNS answers within a few milliseconds. A process that the kernel has stopped does not answer. */
const WITHIN = 800

/** Tells whether CoreDNS answers at the port of its plugin `health`. Never rejects. */
export function isCorednsHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get({ host: '127.0.0.1', port, path: '/health', agent: false }, (response) => {
      clearTimeout(late)
      response.resume()
      response.on('error', () => {})
      resolve(response.statusCode === 200)
    })
    const late = setTimeout(() => asked.destroy(new Error('late')), WITHIN)
    asked.on('error', () => {
      clearTimeout(late)
      resolve(false)
    })
  })
}
