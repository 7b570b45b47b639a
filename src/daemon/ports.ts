/**
 * What the daemon needs from the world, as types: the one door for those that implement it (linux/, worker/, recording/,
 * simulator/) and for tests. Nothing here blocks, and nothing throws for what the network or the kernel did: outcomes are
 * values (a failed effect becomes an event).
 */
export type * from './ports/clock.ts'
export type * from './ports/guardian.ts'
export type * from './ports/network.ts'
export type * from './ports/sockets.ts'
export type * from './ports/worker.ts'
