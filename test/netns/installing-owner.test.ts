/**
 * `state MASTER` with priority 255 in a keepalived file, run by holdfast and then by keepalived itself, beside the same
 * keepalived neighbour. Compared are the kernel's addresses and the captured packets at start, stop and kill. This file
 * does not know how an address owner decides.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import { addressesOf, ip } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { holdfastFrom } from '../support/file-group.ts'
import { describeInterop } from '../support/require.ts'

const labs: Lab[] = []
afterEach(() => {
  for (const lab of labs.splice(0)) lab.destroy()
})

const ipv4Of = (host: Host) => addressesOf(host).filter((address) => !address.includes(':'))

const waitFor = (what: string, host: Host, wanted: readonly string[]) =>
  eventually(`${what}: ${host.name} has ${wanted.join(' and ')}`, () => ipv4Of(host).join() === wanted.join(), {
    sight: () => ipv4Of(host),
    every: 20,
  })

const fileOf = (state: string, priority: number, address = LAB_VIP) => `vrrp_instance V {
  state ${state}
  interface eth0
  virtual_router_id 51
  priority ${priority}
  advert_int 1
  virtual_ipaddress {
    ${address}/24
  }
}
`

describeInterop('an address owner (priority 255) from a keepalived file', () => {
  test("start, stop and kill have the same effect as with keepalived, and the node's own address stays", async () => {
    const lab = createLab({ routers: 2 })
    labs.push(lab)
    const [host, other] = [lab.router(1), lab.router(2)]
    const [own, lower] = [`${host.address}/24`, `${other.address}/24`]
    const vip = `${LAB_VIP}/24`
    const written = (name: string, text: string) => {
      const path = join(lab.directory, `${name}.conf`)
      writeFileSync(path, text)
      return path
    }
    const plan = (at: Host, priority: number): RouterPlan => ({
      host: at,
      priority,
      intervalMs: 1_000,
      address: LAB_VIP,
    })
    const owner = written('owner', fileOf('MASTER', 255))
    const neighbour = new Keepalived(lab, plan(other, 100), [], written('lower', fileOf('BACKUP', 100)))
    await neighbour.ready()
    await waitFor('alone', other, [lower, vip])

    for (const start of [
      () => holdfastFrom(lab, plan(host, 255), owner),
      () => new Keepalived(lab, plan(host, 255), [], owner),
    ]) {
      const capture = await Capture.start(lab, 'owner', 'ip proto 112')
      const daemon = start()
      await waitFor(`${daemon.kind} started`, host, [own, vip])
      await waitFor(`${daemon.kind} started`, other, [lower])
      daemon.terminate()
      await daemon.exited
      expect(ipv4Of(host), `addresses of the node after SIGTERM of ${daemon.kind}`).toEqual([own])
      await waitFor(`${daemon.kind} has left`, other, [lower, vip])
      const said = (await capture.stop()).filter(({ source }) => source === host.address)
      const priorities = new Set(said.map(({ priority }) => priority))
      expect(priorities, `priorities that ${daemon.kind} advertised`).toEqual(new Set(['255', '0']))
    }

    const dying = holdfastFrom(lab, plan(host, 255), owner)
    await waitFor('started again', host, [own, vip])
    dying.killAll()
    await dying.exited
    await waitFor('the end of the lifetime', host, [own])
    await waitFor('after the kill', other, [lower, vip])

    // A killed keepalived leaves the address. The next start takes the address for a leftover, adds the VIP, and removes it at the end.
    ip(host, `address add ${vip} dev eth0`)
    const restarted = holdfastFrom(lab, plan(host, 255), owner)
    await restarted.ready()
    await waitFor('over a leftover', host, [own, vip])
    restarted.killEngine()
    await restarted.exited
    expect(ipv4Of(host), 'addresses of the node after the guardian has executed the cleanup plan').toEqual([own])
  })

  test("a VIP that is the node's own address is neither added nor removed at start, reload and SIGTERM", async () => {
    const lab = createLab({ routers: 1 })
    labs.push(lab)
    const host = lab.router(1)
    const own = `${host.address}/24`
    const file = join(lab.directory, 'own.conf')
    writeFileSync(file, fileOf('MASTER', 255, host.address))
    const plan: RouterPlan = { host, priority: 255, intervalMs: 1_000, address: host.address }
    const daemon = holdfastFrom(lab, plan, file)
    const isActive = async () => (await daemon.state()) === 'Active'
    const reloads = () => daemon.records.filter(({ msg }) => /^Reloaded /.test(msg)).map(({ msg }) => msg)
    await eventually('the owner to be Active', isActive, { sight: addressesNow, every: 20 })
    writeFileSync(file, fileOf('MASTER', 255, host.address).replace('advert_int 1', 'advert_int 2'))
    daemon.process.signal('SIGHUP')
    await eventually('the reload', () => reloads().length > 0, { sight: reloads, every: 20 })
    expect([await daemon.state(), addressesNow()]).toEqual(['Active', [own]])
    daemon.terminate()
    await daemon.exited
    expect(addressesNow(), 'addresses of the node after SIGTERM').toEqual([own])

    function addressesNow(): string[] {
      return ipv4Of(host)
    }
  })
})
