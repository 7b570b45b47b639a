#!/usr/bin/env node
/**
 * Replaces the two programs that write keepalived's files on an OpenShift node, for pods without a cluster. `runtimecfg
 * render KUBECONFIG --api-vips=A --ingress-vips=B FROM --out-dir TO` writes every template of a folder. `dynkeepalived
 * KUBECONFIG TEMPLATE FILE --api-vips=A --ingress-vips=B` writes one file, then sends "reload" over keepalived's
 * socket. On a bootstrap node it sends "stop" when the cluster has an API (here: when a file exists). {{API}} and
 * {{INGRESS}} in a template stand for the addresses. Like the real program, it connects to the socket once, and ends if
 * no process listens.
 */
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'

const SOCKET = '/var/run/keepalived/keepalived.sock'
const STOP = '/opt/openshift/manifests/stop'

const words = process.argv.slice(2)
const argumentOf = (flag) => words.find((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1) ?? ''

function render(from, to) {
  const text = readFileSync(from, 'utf8')
  writeFileSync(
    to,
    text.replaceAll('{{API}}', argumentOf('--api-vips')).replaceAll('{{INGRESS}}', argumentOf('--ingress-vips')),
  )
  chmodSync(to, statSync(from).mode)
}

if (basename(process.argv[1]) === 'runtimecfg') {
  const to = words[words.indexOf('--out-dir') + 1]
  const from = words[words.indexOf('--out-dir') - 1]
  for (const name of readdirSync(from)) render(join(from, name), join(to, name.replace(/\.tmpl$/, '')))
} else {
  const [kubeconfig, template, file] = words
  if (!existsSync(kubeconfig)) throw new Error(`there is no ${kubeconfig}`)
  if (!process.env.POD_NAMESPACE) throw new Error('POD_NAMESPACE is missing')
  const socket = connect(SOCKET)
  socket.on('error', (error) => {
    console.error(error.message)
    process.exit(1)
  })
  socket.on('connect', () => {
    render(template, file)
    socket.write('reload\n')
    let stopped = false
    setInterval(() => {
      if (stopped || process.env.IS_BOOTSTRAP !== 'yes' || !existsSync(STOP)) return
      stopped = true
      socket.write('stop\n')
    }, 200)
  })
}
