/**
 * The ports of an engine that is recorded. Every call goes to the real port, and the tape records the call and its
 * answer. Sockets are recorded in taped-sockets.ts, the guardian in taped-guardian.ts.
 */

import { setImmediate as afterMicrotasks } from 'node:timers/promises'
import { defined } from '../base/defined.ts'
import { type AddressMemory, NO_MEMORY } from '../daemon/addresses/ledger.ts'
import { onTheEventLoop, type Schedule, wakeUpBy } from '../daemon/alarm.ts'
import type { DaemonPorts } from '../daemon/daemon.ts'
import type {
  AddressFilePort,
  CheckPort,
  CheckPortNews,
  Clock,
  MakeWakeUp,
  NetworkPort,
  NotifyPort,
  NotifyPortNews,
} from '../daemon/ports.ts'
import * as outputs from './outputs.ts'
import type { Tape } from './tape.ts'
import { TapedGuardian } from './taped-guardian.ts'
import { tapedSockets } from './taped-sockets.ts'

/**
 * Wraps the ports of the daemon (kernel, clock, files, sockets) so that `tape` records every input and output.
 * `ports.recorder` must be the recorder that the same tape made.
 */
export function tapedPorts(tape: Tape, ports: DaemonPorts): DaemonPorts {
  const { addressFiles, checks, network, notify, onBeat, onGuardianLost, sockets, guardian } = ports
  const { addressMemory = NO_MEMORY, random = Math.random, schedule = onTheEventLoop } = ports
  return {
    ...ports,
    clock: tapedClock(tape, ports.clock),
    network: tapedNetwork(tape, network),
    sockets: tapedSockets(tape, sockets),
    guardian: new TapedGuardian(tape, guardian),
    random: () => tape.read('random', random()),
    schedule: tapedSchedule(tape, schedule),
    wakeUp: tapedWakeUp(tape, ports.wakeUp ?? wakeUpBy(schedule)),
    addressMemory: tapedMemory(tape, addressMemory),
    ...defined({
      checks: checks && tapedChecks(tape, checks),
      notify: notify && tapedNotify(tape, notify),
      addressFiles: addressFiles && tapedFiles(tape, addressFiles),
      onBeat: onBeat && (() => tape.outside(onBeat)),
    }),
    onGuardianLost: () => {
      tape.output({ out: 'guardianLost' })
      if (onGuardianLost !== undefined) tape.outside(onGuardianLost)
    },
  }
}

const tapedClock = (tape: Tape, clock: Clock): Clock => ({
  now: () => tape.read('now', clock.now()),
  asleep: () => tape.asleep(clock),
})

function tapedSchedule(tape: Tape, schedule: Schedule): Schedule {
  let timers = 0
  return (callback, wait) => {
    const timer = ++timers
    tape.output({ out: 'timer', timer, wait })
    const cancel = schedule(() => tape.enter({ in: 'timer', timer }, callback), wait)
    return () => {
      tape.output({ out: 'cancel', timer })
      cancel()
    }
  }
}

const tapedWakeUp =
  (tape: Tape, make: MakeWakeUp): MakeWakeUp =>
  (onTick) => {
    const wakeUp = make(() => tape.enter({ in: 'tick' }, onTick))
    return {
      set(at, now) {
        tape.output({ out: 'wake', at })
        wakeUp.set(at, now)
      },
      clear() {
        tape.output({ out: 'wake' })
        wakeUp.clear()
      },
    }
  }

const tapedNetwork = (tape: Tape, network: NetworkPort): NetworkPort => ({
  links() {
    const links = network.links()
    tape.answer({ in: 'links', links: links === undefined ? null : [...links] })
    return links
  },
  addresses() {
    const addresses = network.addresses()
    tape.answer({ in: 'addresses', addresses: addresses === undefined ? null : [...addresses] })
    return addresses
  },
  apply(steps, nameOf) {
    const outcomes = network.apply(steps, nameOf)
    tape.output({ ...outputs.applied(steps), answer: outputs.applyAnswer(outcomes) })
    return outcomes
  },
  settle(interfaceIndex) {
    tape.output({ out: 'settle', index: interfaceIndex })
    network.settle(interfaceIndex)
  },
  watch(deliver) {
    tape.output({ out: 'watch' })
    network.watch((event) => tape.enter({ in: 'news', event }, () => deliver(event)))
  },
  drain: () => network.drain(),
  close() {
    tape.output({ out: 'closeNetwork' })
    network.close()
  },
})

const tapedMemory = (tape: Tape, memory: AddressMemory): AddressMemory => ({
  read() {
    const read = memory.read()
    tape.answer({ in: 'memory', entries: [...read.entries], problem: read.problem })
    return read
  },
  write(entries) {
    memory.write(entries)
    tape.output({ out: 'remember', entries })
  },
})

const tapedFiles = (tape: Tape, files: AddressFilePort): AddressFilePort => ({
  follow(paths, onNews) {
    const read = files.follow(paths, (file, reading) =>
      tape.enter({ in: 'named', file, reading }, () => onNews(file, reading)),
    )
    tape.output({ out: 'follow', files: paths, answer: read.size === 0 ? undefined : Object.fromEntries(read) })
    return read
  },
  close() {
    tape.output({ out: 'closeFiles' })
    files.close()
  },
})

function tapedChecks(tape: Tape, checks: CheckPort): CheckPort {
  return {
    set(specs, formerly) {
      tape.output({ out: 'checks', checks: specs.map(({ name }) => name), formerly })
      checks.set(specs, formerly)
    },
    askOnceMore(id, asked, within) {
      tape.output({ out: 'askOnceMore', id, asked, within })
      checks.askOnceMore(id, asked, within)
    },
    onNews: (listener) =>
      checks.onNews((news) => tape.enter({ in: 'checked', news: withoutTargetText(news) }, () => listener(news))),
    async stop() {
      tape.output({ out: 'stopChecks' })
      await checks.stop().catch(() => {})
      // Other promises that settle now must not look like consequences of this input, so it is recorded after them.
      await afterMicrotasks()
      tape.input({ in: 'checksStopped' })
    },
  }
}

/** Returns a report of checks without the text from targets. */
function withoutTargetText(news: CheckPortNews): CheckPortNews {
  const quiet = <T extends Extract<CheckPortNews, { kind: 'checkBeat' }>['reports'][number]>(report: T): T =>
    report.last === undefined ? report : { ...report, last: { ...report.last, detail: '' } }
  switch (news.kind) {
    case 'healthChanged':
      return { ...news, report: quiet(news.report) }
    case 'checkBeat':
    case 'askedOnceMore':
      return { ...news, reports: news.reports.map(quiet) }
    case 'checksLost':
      return news
  }
}

function tapedNotify(tape: Tape, notify: NotifyPort): NotifyPort {
  const quiet = (news: NotifyPortNews): NotifyPortNews => (news.kind === 'ran' ? { ...news, detail: '' } : news)
  return {
    set(lanes) {
      tape.output({ out: 'lanes', lanes: lanes.map(({ lane }) => lane) })
      notify.set(lanes)
    },
    post(notification) {
      tape.output(outputs.posted(notification))
      notify.post(notification)
    },
    onNews: (listener) =>
      notify.onNews((news) => tape.enter({ in: 'notified', news: quiet(news) }, () => listener(news))),
    stop() {
      tape.output({ out: 'stopNotify' })
      notify.stop()
    },
  }
}
