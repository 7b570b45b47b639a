/**
 * What happens to a node on paper (test/unit/daemon/fake-world.ts), one readable action after the other, and what must never be
 * after any of them, found from outside. Which actions there are, and which end is wanted, is the tests' affair.
 */
import type { FakeWorld } from '../unit/daemon/fake-world.ts'

/** Its text is its line in the story of a failure. */
export type Action<Subject> = (subject: Subject) => void

export const does = <Subject>(text: string, act: Action<Subject>): Action<Subject> =>
  Object.assign(act, { toString: () => text })

/** Where an advertisement can come in; nothing comes to a closed socket. */
export const hasOneSocket = (world: FakeWorld, interfaceName: string): boolean =>
  world.sockets.filter(({ closed, options }) => !closed && options.interfaceName === interfaceName).length === 1

export function wrongs(world: FakeWorld, vips: ReadonlySet<string>): readonly string[] {
  const { routers, groups } = world.daemon.snapshot()
  const here = world.addresses.filter((each) => vips.has(each.address))
  const bare = routers.flatMap(({ name, state, addresses }) =>
    addresses
      .filter((vip) => state === 'Active' && !here.some((each) => each.address === vip.address))
      .map((vip) => `${name} is Active without ${vip.address}`),
  )
  const lost = here.flatMap(({ address: vip, interfaceIndex }) => {
    const holders = routers.filter(
      ({ state, addresses, deadlines }) =>
        (state === 'Active' || state === 'Leaving' || deadlines.addressesOffInMs !== undefined) &&
        addresses.some((each) => each.address === vip),
    )
    const willed = [...world.wills.values()].some(({ remove }) =>
      remove.some((each) => each.address === vip && each.interfaceIndex === interfaceIndex),
    )
    return holders.length === 1 && willed
      ? []
      : [`${vip} on ${interfaceIndex} has ${holders.length} holders and ${willed ? 'a' : 'no'} will`]
  })
  const torn = groups.flatMap(({ members }) => {
    const states = routers.filter(({ name, departing }) => members.includes(name) && !departing).map((one) => one.state)
    return states.includes('Active') && states.some((state) => state === 'Backup' || state === 'Initialize')
      ? [`torn: ${states.join(' ')}`]
      : []
  })
  return [...bare, ...lost, ...torn]
}

/** What was done, what the daemon said of it, and where that has led. */
export function storyOf(world: FakeWorld, actions: readonly unknown[]): string {
  const said = world.records.slice(-12).map(({ message }) => `  ${message}`)
  const routers = world.daemon
    .snapshot()
    .routers.map(({ name, state, interface: on, faults }) => `  ${name} ${state} on ${on} ${faults.join(' ')}`)
  const links = [...world.links.values()].map(({ name, index }) => `${name}=${index}`)
  const node = `the node: ${links.join(' ')}, ${world.installed.join(' ')}`
  return [...actions.map(String), 'the daemon said:', ...said, 'its routers:', ...routers, node].join('\n')
}
