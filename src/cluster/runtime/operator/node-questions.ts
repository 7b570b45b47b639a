/**
 * Asks the nodes whether they have followed a switch of the load balancer, as a client of theirs: their DNS server, and
 * the ports of HAProxy. This file decides which answers count. These questions read no secret and change nothing.
 */
import { Resolver } from 'node:dns/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { messageOf } from '../../../base/message-of.ts'
import { type Address, familyOf } from '../../../wire/address.ts'

export type NodeQuestions = {
  /** Returns the addresses of `name` at the DNS server of a node, or the reason why there is no answer. */
  readonly names: (server: Address, name: string, family: 'ipv4' | 'ipv6') => Promise<readonly string[] | string>
  /** Tells whether HAProxy at a node is ready. */
  readonly isReady: (node: Address) => Promise<boolean>
  /** Tells whether the ports of HAProxy at a node are closed. A node that does not answer does not count as closed. */
  readonly isClosed: (node: Address) => Promise<boolean>
}

const WITHIN = 2_000
/** Ports of HAProxy that other nodes reach: the API, and its health. The port of the statistics is on loopback. */
const PORTS = [9445, 9444]

export const nodeQuestions: NodeQuestions = {
  async names(server, name, family) {
    const resolver = new Resolver({ timeout: WITHIN, tries: 1 })
    resolver.setServers([familyOf(server) === 'ipv6' ? `[${server}]:53` : `${server}:53`])
    try {
      return family === 'ipv4' ? await resolver.resolve4(name) : await resolver.resolve6(name)
    } catch (error) {
      return messageOf(error)
    }
  },
  isReady: (node) =>
    new Promise((resolve) => {
      const path = '/haproxy_ready'
      const options = { host: node, port: 9444, path, agent: false, signal: AbortSignal.timeout(WITHIN) }
      const asked = request(options, (response) => {
        resolve(response.statusCode === 200)
        response.destroy()
      })
      asked.on('error', () => resolve(false))
      asked.end()
    }),
  async isClosed(node) {
    const closed = await Promise.all(PORTS.map((port) => isRefused(node, port)))
    return closed.every((each) => each)
  },
}

function isRefused(host: Address, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: WITHIN })
    const end = (refused: boolean) => {
      resolve(refused)
      socket.destroy()
    }
    socket.on('connect', () => end(false))
    socket.on('timeout', () => end(false))
    socket.on('error', (error) => end('code' in error && error.code === 'ECONNREFUSED'))
  })
}
