/**
 * Lets the test files that compute run beside those that wait, which get the CPU first. Vitest loads this module before
 * each file of the project `computing`; the test of the release imports it.
 */
import { setPriority } from 'node:os'

/** While both want the CPU, a process with nice value 5 gets a third of what an ordinary process gets. */
setPriority(5)
