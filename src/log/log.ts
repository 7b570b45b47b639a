/**
 * Lists all log events of the engine, which includes the worker thread and `holdfast keepalived`. docs/log-events.md is
 * generated from this table. A call that logs names an event of the table. Pure.
 */
import { NODE_EVENTS } from './node-events.ts'
import { ROUTER_EVENTS } from './router-events.ts'

export const LOG = { ...ROUTER_EVENTS, ...NODE_EVENTS }

/** An event of the engine. */
export type EngineEvent = (typeof LOG)[keyof typeof LOG]
