/**
 * Exports the ports: types for what the daemon needs from the outside. linux/, worker/, recording/, simulator/ and
 * tests implement them. No function of a port blocks, and none throws because of the network or the kernel. Outcomes
 * are values, and a failed effect becomes an event.
 */
export type * from './ports/clock.ts'
export type * from './ports/guardian.ts'
export type * from './ports/network.ts'
export type * from './ports/restart.ts'
export type * from './ports/sockets.ts'
export type * from './ports/worker.ts'
