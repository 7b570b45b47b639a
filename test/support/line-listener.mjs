/**
 * Starts the pod's shell handler for each client of a unix socket. The handler reads the client's lines from its
 * standard input.
 */
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'

createServer((client) => {
  client.on('error', () => {})
  const shell = spawn('bash', ['-c', 'msg_handler'], { stdio: ['pipe', 'inherit', 'inherit'] })
  client.pipe(shell.stdin)
}).listen(process.argv[2])
