/**
 * Kernel notifications about addresses in an unusual order. After a rename, the kernel reports every address again. Another program
 * on the node may add, replace and remove addresses faster than the daemon reads them. In the end, kernel and `status` agree with
 * the state of the router.
 */
import { expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { sleep } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'
import { ThreeRouters } from './three-routers.ts'

describeNetns('address notifications in an unusual order', () => {
  test('after an interface is renamed and renamed back, the router is Active again and its address is back', async () => {
    const threeRouters = await ThreeRouters.settled()
    const { namespace } = threeRouters.lab.router(1)
    ip(namespace, 'link set eth0 name ethX')
    await threeRouters.answeredBy(2, 'eth0 of r1 was renamed')
    ip(namespace, 'link set ethX name eth0')
    await threeRouters.settlesOn(1, 'it was renamed back')
    expect((await threeRouters.daemon(1).router()).addresses).toEqual([{ address: LAB_VIP, present: true }])
  })

  test('a VIP that a program added to a Backup and later removes from the Active is put back', async () => {
    const threeRouters = await ThreeRouters.settled()
    const { namespace } = threeRouters.lab.router(2)
    const batch = [`address add ${LAB_VIP}/32 dev eth0`, `address replace ${LAB_VIP}/32 dev eth0`]
    ip(namespace, ...batch)
    await threeRouters.settlesOn(1, 'the address was put on r2')
    threeRouters.daemon(1).terminate()
    await threeRouters.settlesOn(2, 'r1 left')
    for (let round = 1; round <= 3; round++) {
      ip(namespace, `address del ${LAB_VIP}/32 dev eth0`)
      await threeRouters.holdersBecome(['r2'], `removal ${round} on the Active`)
      await sleep(50)
    }
    expect((await threeRouters.daemon(2).router()).addresses).toEqual([{ address: LAB_VIP, present: true }])
  })

  test("an answer from the node's second interface on the same LAN is not reported as a competing Active", async () => {
    const threeRouters = new ThreeRouters()
    const { lab } = threeRouters
    const { namespace } = lab.router(1)
    ip(lab.bridge, `link add second type veth peer name eth1 netns ${namespace}`)
    ip(lab.bridge, 'link set second master br0 up')
    ip(namespace, 'link set eth1 up')
    ip(namespace, 'address add 10.77.0.61/24 dev eth1')
    await threeRouters.start(1, 200)
    await threeRouters.answeredBy(1, 'it started alone')
    await sleep(1_500)
    expect(
      (await threeRouters.daemon(1).router()).counters.competingAnswers,
      'ARP answers of eth1 of r1 itself that r1 counted as answers of a competing Active',
    ).toBe(0)
  })
})
