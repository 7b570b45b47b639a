/**
 * deploy/operands/try-switch.sh as an administrator runs it, with an operator and the stand-in of the API. A small program
 * takes the place of kubectl; it knows only the commands of the script.
 */
import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../../src/lab/wait.ts'
import { API_VIP, INFRASTRUCTURES, INGRESS_VIP, infrastructure, OperatorLab } from '../../support/operator-lab.ts'

const SCRIPT = join(import.meta.dirname, '..', '..', '..', 'deploy', 'operands', 'try-switch.sh')
const EXTERNAL = '10.9.0.200'
/** An address at which no kube-api answers. */
const DEAD = '10.9.0.201'
const KUBECTL = `#!${process.execPath}
const [verb, , , ...rest] = process.argv.slice(2)
const url = process.env.API + '/apis/clusterhostednetservices.operator.io/v1alpha1/hostednetservices/cluster'
const show = (value) => process.stdout.write(typeof value === 'string' ? value : JSON.stringify(value ?? ''))
import { existsSync } from 'node:fs'
if (verb === 'patch' && existsSync(process.env.TMPDIR + '/refuse')) process.exit(1)
const object = await (await fetch(url)).json()
if (verb === 'get') {
  const path = rest.at(-1).replace(/^jsonpath=\\{|\\}$/g, '')
  if (path === '.spec') show(object.spec)
  else if (path === '.status.loadBalancer.phase') show(object.status?.loadBalancer?.phase ?? '')
  else if (path.includes('holders')) show(object.status.holders.filter((one) => one.service === 'API').map((one) => one.address).join(' '))
} else {
  const merged = (into, from) => {
    for (const [key, value] of Object.entries(from))
      if (value === null) delete into[key]
      else if (typeof value === 'object') into[key] = merged(into[key] ?? {}, value)
      else into[key] = value
    return into
  }
  const answer = await fetch(url, { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(merged(object, JSON.parse(rest.at(-1)))) })
  if (!answer.ok) process.exit(1)
}
`

/** Starts a cluster whose nodes follow the phase, and returns a function that runs the script. */
async function cluster(silentIn: readonly string[] = []) {
  const nodes = { apiInt: API_VIP, haproxy: true }
  const lab = await OperatorLab.start()
  lab.put(INFRASTRUCTURES, infrastructure())
  lab.operate({
    ...{ graceMs: 500, askExternal: async () => undefined },
    questions: {
      names: async () => [nodes.apiInt],
      isReady: async () => nodes.haproxy,
      isClosed: async () => !nodes.haproxy,
    },
  })
  await eventually('the object', () => lab.object() !== undefined, { sight: () => lab.log, within: 10_000, every: 20 })
  lab.holders({ [API_VIP]: 'n1', [INGRESS_VIP]: 'n4' })
  await lab.says('Progressing=False DeployComplete')
  type Stored = { phase: string; apiInt?: string; haproxy: string }
  const stored = () => (lab.object()?.status as { loadBalancer?: Stored } | undefined)?.loadBalancer
  await eventually('the phase', () => stored()?.phase === 'SelfHosted', {
    sight: () => lab.log,
    ...{ within: 10_000, every: 20 },
  })
  const follow = setInterval(() => {
    const { apiInt = API_VIP, haproxy } = stored() ?? {}
    Object.assign(nodes, { apiInt, haproxy: haproxy !== 'Stopped' })
  }, 100)
  const folder = mkdtempSync(join(tmpdir(), 'hf-switch-'))
  onTestFinished(() => {
    clearInterval(follow)
    rmSync(folder, { recursive: true, force: true })
  })
  writeFileSync(join(folder, 'kubectl.mjs'), KUBECTL)
  writeFileSync(join(folder, 'kubectl'), `#!/bin/sh\nexec ${process.execPath} ${join(folder, 'kubectl.mjs')} "$@"\n`)
  // The client of the script: its requests fail in the phases that the test names.
  writeFileSync(
    join(folder, 'curl'),
    `#!/bin/sh\ncase $* in *${DEAD}*) exit 7 ;; esac\n! grep -Eqx '${silentIn.join('|') || 'none'}' ${folder}/*/phase\n`,
  )
  for (const name of ['kubectl', 'curl']) chmodSync(join(folder, name), 0o755)
  /** Runs the script, which gets SIGHUP when it has printed the text `until`. */
  const hangUp = (until: string | undefined, ...argv: readonly string[]) =>
    new Promise<{ code: number | null; text: string }>((resolve) => {
      const env = { PATH: `${folder}:${process.env.PATH}`, API: `http://127.0.0.1:${lab.api.port}`, TMPDIR: folder }
      const started = spawn(SCRIPT, argv, { env })
      let text = ''
      for (const stream of [started.stdout, started.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          if (until !== undefined && text.includes(until)) started.kill('SIGHUP')
        })
      started.on('close', (code) => resolve({ code, text }))
    })
  const run = (...argv: readonly string[]) => hangUp(undefined, ...argv)
  const refusePatches = () => writeFileSync(join(folder, 'refuse'), '')
  return { hangUp, lab, refusePatches, run }
}

test('O12: two rounds pass each phase in order, and the spec is as it was found', async () => {
  const { lab, run } = await cluster()
  lab.spec({ ingressHa: 'Enabled', dns: { nodesResolution: 'Disabled', appsResolution: 'Enabled' } })
  const { code, text } = await run(EXTERNAL, '--rounds', '2')
  const phases = [...text.matchAll(/round (\d): (External|SelfHosted)/g)].map(([, round, name]) => `${round} ${name}`)
  expect({ code, phases, text }).toMatchObject({
    ...{ code: 0, phases: ['1 External', '1 SelfHosted', '2 External', '2 SelfHosted'] },
    text: expect.stringMatching(/[1-9]\d* requests, 0 lost/),
  })
  expect(lab.object()?.spec).toEqual({
    ingressHa: 'Enabled',
    dns: { nodesResolution: 'Disabled', appsResolution: 'Enabled' },
  })
}, 180_000)

test('O12: requests that are lost outside of a change of HAProxy are a failure', async () => {
  const { run } = await cluster(['External'])
  const { code, text } = await run(EXTERNAL, '--rounds', '1')
  expect({ code, text }).toMatchObject({
    code: 1,
    text: expect.stringContaining('lost outside of a change of HAProxy'),
  })
}, 180_000)

test('O12: a phase that does not end is named, and the spec is restored', async () => {
  const { lab, run } = await cluster()
  lab.operate({ askExternal: async () => 'ECONNREFUSED' })
  const { code, text } = await run(EXTERNAL, '--within', '3')
  expect({ code, text }).toMatchObject({ code: 1, text: expect.stringContaining('the phase Checking did not end') })
  expect(lab.object()?.spec).toMatchObject({ ingressHa: 'Enabled', dns: { nodesResolution: 'Enabled' } })
}, 180_000)

test('O12: without an address, and with an unknown flag, the script says what is wrong', async () => {
  const { run } = await cluster()
  expect(await run()).toMatchObject({ code: 2, text: expect.stringContaining('Usage: try-switch.sh ADDRESS') })
  expect(await run(EXTERNAL, '--often')).toMatchObject({
    code: 2,
    text: expect.stringContaining('unknown flag --often'),
  })
})

test.each([
  ['--rounds', 'ten'],
  ['--rounds', '0'],
  ['--within', '1h'],
])('%s %s is refused, and nothing is changed', async (flag, value) => {
  const { lab, run } = await cluster()
  const before = lab.object()?.spec
  expect(await run(EXTERNAL, flag, value)).toEqual({
    ...{ code: 2, text: `try-switch.sh: --rounds and --within need a number above 0, not "${value}"\n` },
  })
  expect(lab.object()?.spec).toEqual(before)
})

test('an address at which kube-api does not answer is refused, and nothing is changed', async () => {
  const { lab, run } = await cluster()
  const before = lab.object()?.spec
  expect(await run(DEAD)).toMatchObject({ code: 2, text: expect.stringContaining(`https://${DEAD}:6443/readyz`) })
  expect(lab.object()?.spec).toEqual(before)
})

test('a terminal that hangs up ends the run, and the spec is restored', async () => {
  const { hangUp, lab } = await cluster()
  const before = lab.object()?.spec
  const { code } = await hangUp('round 1: External', EXTERNAL)
  expect(code).toBe(1)
  expect(lab.object()?.spec).toEqual(before)
}, 60_000)

test('a spec that cannot be restored is printed', async () => {
  const { hangUp, lab, refusePatches } = await cluster()
  const found = JSON.stringify(lab.object()?.spec)
  const ended = hangUp('round 1: External', EXTERNAL)
  await eventually('the wish', () => JSON.stringify(lab.object()?.spec).includes(EXTERNAL), {
    sight: () => lab.object(),
    ...{ within: 10_000, every: 20 },
  })
  refusePatches()
  expect(await ended).toMatchObject({ code: 1, text: expect.stringContaining(`not restored. It was: ${found}`) })
}, 60_000)
