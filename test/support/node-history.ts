/**
 * Plays histories of a simulated node (test/unit/daemon/fake-world.ts): a list of named actions, and checks for states
 * that must never follow from them. The tests decide the actions and the expected end.
 */
import type { FakeWorld } from '../unit/daemon/fake-world.ts'

/** An action on the simulated node. The text of an action is its line in the report of a failed test. */
export type Action<Subject> = (subject: Subject) => void

export const does = <Subject>(text: string, act: Action<Subject>): Action<Subject> =>
  Object.assign(act, { toString: () => text })

/** Returns true if an advertisement can arrive on the interface: the daemon has exactly one socket open there. */
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
    const planned = [...world.plans.values()].some(({ remove }) =>
      remove.some((each) => each.address === vip && each.interfaceIndex === interfaceIndex),
    )
    return holders.length === 1 && planned
      ? []
      : [`${vip} on ${interfaceIndex} has ${holders.length} holders and ${planned ? 'a' : 'no'} cleanup plan`]
  })
  const torn = groups.flatMap(({ members }) => {
    const states = routers.filter(({ name, departing }) => members.includes(name) && !departing).map((one) => one.state)
    return states.includes('Active') && states.some((state) => state === 'Backup' || state === 'Initialize')
      ? [`torn: ${states.join(' ')}`]
      : []
  })
  return [...bare, ...lost, ...torn]
}

/** Returns a report with the actions, the daemon's log and the final state. */
export function storyOf(world: FakeWorld, actions: readonly unknown[]): string {
  const said = world.records.slice(-12).map(({ message }) => `  ${message}`)
  const routers = world.daemon
    .snapshot()
    .routers.map(({ name, state, interface: on, faults }) => `  ${name} ${state} on ${on} ${faults.join(' ')}`)
  const links = [...world.links.values()].map(({ name, index }) => `${name}=${index}`)
  const node = `the node: ${links.join(' ')}, ${world.installed.join(' ')}`
  return [...actions.map(String), 'the daemon said:', ...said, 'its routers:', ...routers, node].join('\n')
}
