/** Files that name an address of this node: what is known of them after each news, and what the log and the journal have of it. */
import { beforeEach, expect, test } from 'vitest'
import { AddressFiles } from '../../../src/daemon/addresses/address-files.ts'
import type { AddressFilePort } from '../../../src/daemon/ports/worker.ts'
import { Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import { address } from '../../../src/wire/address.ts'

const FILE = '/run/nodeip'
const OTHER = '/run/other'
const A = { address: address('10.0.0.11') }
const B = { address: address('10.0.0.12') }
const MISSING = { problem: 'it does not exist' }

let messages: string[] = []
let recorder: Recorder
beforeEach(() => {
  messages = []
  recorder = new Recorder(
    () => 1e6 * messages.length,
    (deliver) => deliver(),
  )
  recorder.attach(({ message }) => messages.push(message))
})

/** The port returns the content of files that were not followed before. */
function following(contents: ReadonlyMap<string, typeof A | typeof MISSING>): AddressFiles {
  const followed = new Set<string>()
  const port: AddressFilePort = {
    follow(files) {
      const news = files.filter((file) => !followed.has(file))
      for (const file of news) followed.add(file)
      return new Map([...contents].filter(([file]) => news.includes(file)))
    },
    close: () => {},
  }
  return new AddressFiles(port, recorder)
}

test('a file that is followed again keeps what is known of it; one without content is not known', () => {
  const files = following(new Map([[FILE, A]]))
  files.follow([FILE], () => {})
  files.settle(() => true)
  files.follow([FILE, OTHER], () => {})
  expect([...files.named]).toEqual([[FILE, { reading: A, inForce: A.address }]])
  files.follow([], () => {})
  expect([...files.named]).toEqual([])
})

test('an address comes into force when an interface has it, and stays in force while the file has a problem', () => {
  const files = following(new Map([[FILE, A]]))
  files.follow([FILE], () => {})
  files.settle((one) => one === A.address)
  expect(files.take(FILE, B)).toBe(true)
  files.settle(() => false)
  expect(files.named.get(FILE)).toEqual({ reading: B, inForce: A.address })
  expect(files.take(FILE, MISSING)).toBe(true)
  expect(messages).toEqual([
    `${FILE} names 10.0.0.12`,
    `${FILE}: it does not exist; 10.0.0.11 stays in force while this node has it`,
  ])
  expect(recorder.chronicle.read().events).toMatchObject([
    { kind: 'addressNamed', file: FILE, address: B.address },
    { kind: 'addressNamed', file: FILE, problem: MISSING.problem },
  ])
})

test('a problem of a file without an address in force is told as it is; known content and a file that is not followed are no news', () => {
  const files = following(new Map([[FILE, A]]))
  files.follow([FILE], () => {})
  expect([files.take(FILE, A), files.take(OTHER, B)]).toEqual([false, false])
  expect(files.take(FILE, MISSING)).toBe(true)
  expect(files.take(FILE, { ...MISSING })).toBe(false)
  expect(messages).toEqual([`${FILE}: it does not exist`])
})
