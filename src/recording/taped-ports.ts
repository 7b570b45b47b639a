/**
 * The ports of an engine with a tape beside them: each call goes where it went, and what comes of it is written down. What an
 * engine asks again and again, and is nearly always told the same (whether a will was executed), is written when it is not
 * what it was. Decided here: which is which. Refuses to know what anything is for.
 */
import { setImmediate as afterMicrotasks } from 'node:timers/promises'
import { type AddressMemory, NO_MEMORY } from '../daemon/addresses/ledger.ts'
import { onTheEventLoop, type Schedule, wakeUpBy } from '../daemon/alarm.ts'
import type { DaemonPorts } from '../daemon/daemon.ts'
import type {
  AddressFilePort,
  AdvertisementSocket,
  CheckPort,
  CheckPortNews,
  Clock,
  Failure,
  FrameSocket,
  GuardianPort,
  MakeWakeUp,
  NetworkPort,
  NotifyPort,
  NotifyPortNews,
  ReceivedPacket,
  SocketPort,
} from '../daemon/ports.ts'
import * as outputs from './outputs.ts'
import { messageStart } from './secrets.ts'
import type { Tape } from './tape.ts'
import { WillWords } from './will-words.ts'

/** `ports.recorder` is the tape's own. */
export function tapedPorts(tape: Tape, ports: DaemonPorts): DaemonPorts {
  const { addressFiles, checks, network, notify, onBeat, onForsaken, sockets, guardian } = ports
  const { addressMemory = NO_MEMORY, random = Math.random, schedule = onTheEventLoop } = ports
  return {
    ...ports,
    clock: tapedClock(tape, ports.clock),
    network: tapedNetwork(tape, network),
    sockets: tapedSockets(tape, sockets),
    guardian: tapedGuardian(tape, guardian),
    random: () => tape.read('random', random()),
    schedule: tapedSchedule(tape, schedule),
    wakeUp: tapedWakeUp(tape, ports.wakeUp ?? wakeUpBy(schedule)),
    addressMemory: tapedMemory(tape, addressMemory),
    ...(checks === undefined ? {} : { checks: tapedChecks(tape, checks) }),
    ...(notify === undefined ? {} : { notify: tapedNotify(tape, notify) }),
    ...(addressFiles === undefined ? {} : { addressFiles: tapedFiles(tape, addressFiles) }),
    ...(onBeat === undefined ? {} : { onBeat: () => tape.outside(onBeat) }),
    onForsaken: () => {
      tape.output({ out: 'forsaken' })
      if (onForsaken !== undefined) tape.outside(onForsaken)
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

function tapedSockets(tape: Tape, sockets: SocketPort): SocketPort {
  let opened = 0
  const failing = (socket: number, onFailure: (failure: Failure) => void) => (failure: Failure) =>
    tape.enter({ in: 'failed', socket, failure }, () => onFailure(failure))
  const closing = (socket: number, open: { close(): void }) => () => {
    tape.output({ out: 'closeSocket', socket })
    open.close()
  }
  return {
    openAdvertisementSocket(options) {
      const socket = ++opened
      const open = sockets.openAdvertisementSocket({
        ...options,
        onReadable: () => tape.enter({ in: 'readable', socket }, options.onReadable),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'advertisements', options), ...answered(open) })
      return 'code' in open ? open : { ...tapedAdvertisements(tape, socket, open), close: closing(socket, open) }
    },
    openFrameSocket(options) {
      const socket = ++opened
      const { onFrame } = options
      const open = sockets.openFrameSocket({
        ...options,
        ...(onFrame === undefined
          ? {}
          : {
              onFrame: (frame: Uint8Array, at) =>
                tape.enter({ in: 'frame', socket, at, hex: outputs.plainHex(frame) }, () => onFrame(frame, at)),
            }),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'frames', options), ...answered(open) })
      return 'code' in open ? open : { ...tapedFrames(tape, socket, open), close: closing(socket, open) }
    },
    openNeighborWatch(options) {
      const socket = ++opened
      const { onLost, onNeighbor } = options
      const open = sockets.openNeighborWatch({
        ...options,
        onNeighbor: (address, is) => tape.enter({ in: 'neighbor', socket, address, is }, () => onNeighbor(address, is)),
        onLost: () => tape.enter({ in: 'neighborsLost', socket }, onLost),
        onFailure: failing(socket, options.onFailure),
      })
      tape.output({ ...outputs.opened(socket, 'neighbors', options), ...answered(open) })
      return 'code' in open ? open : { close: closing(socket, open) }
    },
  }
}

const answered = (open: object | Failure): { readonly answer?: Failure } => ('code' in open ? { answer: open } : {})

const tapedAdvertisements = (
  tape: Tape,
  socket: number,
  open: AdvertisementSocket,
): Omit<AdvertisementSocket, 'close'> => ({
  drain(maxBatches, deliver, until) {
    if (!tape.isOn) return open.drain(maxBatches, deliver, until)
    const taped = (packet: ReceivedPacket) => {
      const { bytes, destination, family, receivedAt, source, ttl } = packet
      const hex = tape.hexOf(bytes, messageStart(family, bytes))
      tape.enter({ in: 'packet', socket, family, from: source, to: destination, ttl, at: receivedAt, hex }, () =>
        deliver(packet),
      )
    }
    const result = open.drain(maxBatches, taped, until)
    const { empty, lost } = result
    if (!empty || lost > 0) tape.answer({ in: 'drained', socket, empty, lost })
    return result
  },
  send(datagrams) {
    const outcomes = open.send(datagrams)
    if (tape.isOn)
      tape.output({ ...outputs.sent(socket, datagrams, tape.messageHex), answer: outputs.sendAnswer(outcomes) })
    return outcomes
  },
  join(group) {
    const failure = open.join(group)
    tape.output({ out: 'join', socket, group, answer: failure })
    return failure
  },
})

const tapedFrames = (tape: Tape, socket: number, open: FrameSocket): Omit<FrameSocket, 'close'> => ({
  send(frames) {
    const outcomes = open.send(frames)
    if (tape.isOn) tape.output({ ...outputs.framed(socket, frames), answer: outputs.sendAnswer(outcomes) })
    return outcomes
  },
  hear(hears) {
    tape.output({ out: 'hear', socket, hears })
    open.hear(hears)
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
      checks.onNews((news) => tape.enter({ in: 'checked', news: unsaid(news) }, () => listener(news))),
    async stop() {
      tape.output({ out: 'stopChecks' })
      await checks.stop().catch(() => {})
      // On its own, as a replay tells it: what else happens now in promises is none of its consequences.
      await afterMicrotasks()
      tape.input({ in: 'checksStopped' })
    },
  }
}

/** Without what a target has said. */
function unsaid(news: CheckPortNews): CheckPortNews {
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

function tapedGuardian(tape: Tape, guardian: GuardianPort): GuardianPort {
  const words = new WillWords()
  const told = { guarded: false, executions: 0 }
  /** Both, when one of them is not what it was. One look each: somebody else writes there. */
  const look = () => {
    const { executions, guarded } = guardian
    if (executions === told.executions && guarded === told.guarded) return told
    Object.assign(told, { executions, guarded })
    tape.answer({ in: 'guardian', executions, guarded })
    return told
  }
  return {
    arm(lastWill) {
      const armed = guardian.arm(lastWill)
      tape.output({ ...outputs.willed(lastWill, tape.messageHex), answer: armed ? undefined : false })
      words.armed(lastWill.unit, armed)
      return armed
    },
    stepDown(unit) {
      const answer = guardian.stepDown(unit)
      tape.output({ out: 'stepDown', unit, answer: outputs.steppedDownAnswer(answer) })
      words.withdrawn(unit)
      return answer
    },
    withdraw(unit) {
      tape.output({ out: 'withdraw', unit })
      guardian.withdraw(unit)
      words.withdrawn(unit)
    },
    sent(unit, at) {
      tape.output({ out: 'promise', unit, at })
      guardian.sent(unit, at)
    },
    state(unit) {
      const state = guardian.state(unit)
      if (tape.isInside && words.of(unit) !== state) {
        words.set(unit, state)
        tape.answer({ in: 'word', unit, state })
      }
      return state
    },
    acknowledge(unit) {
      const done = guardian.acknowledge(unit)
      tape.output({ out: 'acknowledge', unit, answer: done ? undefined : false })
      words.withdrawn(unit)
      return done
    },
    listen(onCall) {
      const isHeard = guardian.listen(() => tape.enter({ in: 'called' }, onCall))
      tape.output({ out: 'listen', answer: isHeard ? undefined : false })
      return isHeard
    },
    beat(now) {
      const beat = guardian.beat(now)
      tape.answer({ in: 'beat', silent: beat?.silent, ...(beat?.isChanging === true ? { changing: true } : {}) })
      return beat
    },
    get executions() {
      return tape.isInside ? look().executions : guardian.executions
    },
    get guarded() {
      return tape.isInside ? look().guarded : guardian.guarded
    },
    // For the status alone.
    get armed() {
      return guardian.armed
    },
  }
}
