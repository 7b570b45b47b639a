/** The socket name that keeps a second daemon from a node, as a process of this network namespace sees that name. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { loadNative } from '../../../src/linux/native.ts'
import { takeNodeLock } from '../../../src/linux/node-lock.ts'
import { AF, unixSockaddr } from '../../../src/linux/sockets/sockaddr.ts'

const native = loadNative()
let names = 0
/** Returns a name of this process and test, because other daemons of this machine hold the real one. */
const unique = () => `holdfast-test-${process.pid}-${names++}`

/** The lock of the node, released at the end of the test. */
function taken(name: string) {
  const lock = takeNodeLock(native, name)
  if (lock.taken) onTestFinished(() => lock.release())
  return lock
}

/** Takes the lock's name like a daemon of holdfast 0.1: `padded` under Node 20, exact under Node 22 and newer. */
function heldBefore(name: string, padded: boolean): void {
  const socket = new native.NativeSocket(AF.unix, 1, 0, 1, 1)
  socket.bind(unixSockaddr(padded ? `\0${name}`.padEnd(108, '\0') : `\0${name}`))
  onTestFinished(() => socket.close())
}

test('a second daemon is refused, and the process that has the name is named', () => {
  const name = unique()
  expect(taken(name).taken).toBe(true)
  expect(taken(name)).toEqual({ taken: false, by: { pid: process.pid, uid: process.getuid?.() } })
})

test('a released name can be taken again', () => {
  const name = unique()
  const lock = takeNodeLock(native, name)
  if (lock.taken) lock.release()
  expect(taken(name).taken).toBe(true)
})

test.each([
  ['exact', false],
  ['padded', true],
])('a daemon that holds the name %s excludes a new one, which leaves nothing taken', (_, padded) => {
  const name = unique()
  heldBefore(name, padded)
  expect(taken(name).taken).toBe(false)
  // The second form of the lock's name is free again.
  heldBefore(name, !padded)
})

test('this Node cannot take the name while the lock is held, whichever form it writes', async () => {
  const name = unique()
  taken(name)
  const server = createServer().listen(`\0${name}`)
  onTestFinished(() => void server.close())
  const [error] = await once(server, 'error')
  expect(error).toMatchObject({ code: 'EADDRINUSE' })
})

test('no process can connect to the lock', async () => {
  const name = unique()
  taken(name)
  const python = `import socket
s = socket.socket(socket.AF_UNIX)
print(s.connect_ex("\\0${name}"))`
  const client = spawn('python3', ['-c', python], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [answer] = await once(client.stdout, 'data')
  expect(Number(answer), 'ECONNREFUSED').toBe(111)
  const socket = connect(`\0${name}`)
  const [error] = await once(socket, 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
})
