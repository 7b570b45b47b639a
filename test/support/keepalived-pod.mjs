/**
 * Imitates the program that runs keepalived in OpenShift's pod. The imitation starts keepalived when keepalived's
 * configuration file exists. A line "reload" on the socket starts keepalived or sends SIGHUP to it. argv names the
 * folder for keepalived's pid files. SIGTERM is passed on to keepalived.
 */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const file = '/etc/keepalived/keepalived.conf'
const socket = '/var/run/keepalived/keepalived.sock'
const flags = ['--dont-fork', '--vrrp', '--log-detail', '--log-console', '--use-file', file]
let keepalived

function start() {
  const pids = ['--pid', join(folder, 'pid'), '--vrrp_pid', join(folder, 'vrrp.pid')]
  keepalived = spawn('keepalived', [...flags, ...pids], { stdio: 'inherit' })
  keepalived.once('exit', () => {
    keepalived = undefined
  })
}

function obey(word) {
  if (word !== 'reload') return
  console.log('pod: told to reload')
  if (keepalived === undefined) start()
  else keepalived.kill('SIGHUP')
}

process.once('SIGTERM', () => {
  if (keepalived === undefined) process.exit(0)
  keepalived.once('exit', () => process.exit(0))
  keepalived.kill('SIGTERM')
})
rmSync(socket, { force: true })
createServer((connection) =>
  connection.setEncoding('utf8').on('data', (text) => text.split('\n').forEach(obey)),
).listen(socket, () => console.log('pod: listening'))
if (existsSync(file)) start()
