/**
 * Models one vrrp_instance of a keepalived node, with the observed behaviour of keepalived 2.2.7, including differences
 * from RFC 9568 §6.4 (docs/simulate.md). The test keepalived-model.test.ts compares the model with recordings. This
 * file decides states, timers and announcements. Time is an argument. This file does not know packets, kernels,
 * processes and trackers.
 */
import { activeDownInterval, skewTime } from '../../vrrp/timers.ts'
import { type Address, compareAddresses } from '../../wire/address.ts'
import { type Centis, centisToMillis } from '../../wire/units.ts'

/** State of an instance. Waiting: the instance has started, and the results of what it tracks are not yet known. */
export type InstanceState = 'Stopped' | 'Waiting' | 'Backup' | 'Active' | 'Fault'

export type InstanceSettings = {
  readonly version: 2 | 3
  readonly interval: Centis
  /** Base priority of the instance in the keepalived file. setPriority() sets its effective priority. */
  readonly priority: number
  readonly source: Address
  readonly preempt: boolean
  /** Preemption delay in milliseconds; 0: no delay. */
  readonly preemptDelay: number
  /** True if the instance becomes Active at its start without waiting, because its file has priority 255. */
  readonly startsActive: boolean
  /** garp_master_repeat and garp_master_delay: number of frames for each address, and ms after the takeover. */
  readonly announcements: readonly Block[]
  readonly refresh: { readonly every: number; readonly copies: number } | undefined
  /** garp_lower_prio_repeat and garp_lower_prio_delay: frames for each address, and ms after a lower advertisement. */
  readonly onCompetingActive: readonly Block[]
  /** True if an Active answers an advertisement of lower priority (without lower_prio_no_advert in the file). */
  readonly answersLowerPriority: boolean
  /** higher_prio_send_advert: true if an Active that loses the election sends a last advertisement. */
  readonly lastAdvertisement: boolean
}
export type Block = { readonly after: number; readonly copies: number }

/** Actions of an instance, in the order in which the instance calls them. */
export type InstancePort = {
  say(priority: number): void
  setAddresses(installed: boolean): void
  /** Sends `copies` gratuitous ARP or NA frames for each virtual address of the instance. */
  announce(copies: number): void
  enters(state: InstanceState, priority: number): void
}

/** An advertisement that the instance has accepted. */
export type Advertisement = { readonly priority: number; readonly interval: Centis; readonly source: Address }

const OWNER = 255
const NEVER = Number.POSITIVE_INFINITY

export class KeepalivedInstance {
  readonly #port: InstancePort
  #settings: InstanceSettings
  #state: InstanceState = 'Stopped'
  #priority: number
  /** Advertisement interval of the Active that was accepted last; before that, the instance's own interval. */
  #learned: Centis
  /** Time in ms at which the instance next advertises (as Active) or takes over (as Backup). */
  #timerAt: number | undefined
  #preemptsFrom: number | undefined
  #announcements: { readonly at: number; readonly copies: number }[] = []
  #refreshAt: number | undefined
  /** True if the instance's timer has expired, but its sync group waits for other members to want Active. */
  #wants = false
  /** True for an address owner that has lost the election to another owner. */
  #demoted = false

  constructor(settings: InstanceSettings, port: InstancePort) {
    this.#settings = settings
    this.#port = port
    this.#priority = settings.priority
    this.#learned = settings.interval
  }

  get state(): InstanceState {
    return this.#state
  }

  get priority(): number {
    return this.#demoted ? OWNER - 1 : this.#priority
  }

  /** True if the instance's timer has expired, and only its sync group keeps it from becoming Active. */
  get wants(): boolean {
    return this.#wants
  }

  /** Time in ms of the instance's next action. */
  get deadline(): number {
    const [next] = this.#announcements
    return Math.min(this.#timerAt ?? NEVER, next?.at ?? NEVER, this.#refreshAt ?? NEVER)
  }

  // Beginning and end ------------------------------------------------------------------------------------------------

  /** Starts the instance. `ready`: whether everything that the instance tracks is up, or not known yet. */
  start(now: number, ready: 'yes' | 'no' | 'unknown'): void {
    if (ready === 'unknown') this.#state = 'Waiting'
    else if (ready === 'no') this.#enter('Fault')
    else if (this.#settings.startsActive) this.becomeActive(now)
    else this.#becomeBackup(now, this.#settings.interval)
  }

  stop(): void {
    if (this.#state === 'Active') this.#release(1)
    this.#enter('Stopped')
    this.#settle()
  }

  /**
   * Reads new settings (SIGHUP) and keeps the state of the instance. An Active advertises its old values and
   * immediately its new values. A Backup restarts its timer.
   */
  reload(now: number, settings: InstanceSettings, priority: number): void {
    if (this.#state === 'Active') this.#port.say(this.priority)
    this.#settings = settings
    this.#priority = priority
    if (this.#state === 'Active') this.#advertise(now)
    if (this.#state === 'Backup') this.#timerAt = now + this.#down()
  }

  // Tracking ----------------------------------------------------------------------------------------------------------

  /**
   * Sets the effective priority of the instance. A Backup's timer moves by the difference in Skew_Time. An Active uses
   * the priority in its next advertisement.
   */
  setPriority(now: number, priority: number): void {
    const before = this.#down()
    this.#priority = priority
    if (this.#state !== 'Backup' || this.#timerAt === undefined) return
    this.#timerAt = Math.max(now, this.#timerAt + this.#down() - before)
  }

  /** Puts the instance into FAULT. `releases`: number of priority 0 packets if it is Active and its link is up. */
  fail(releases: number): void {
    if (this.#state === 'Fault' || this.#state === 'Stopped') return
    if (this.#state === 'Active') this.#release(releases)
    this.#enter('Fault')
    this.#settle()
  }

  recover(now: number): void {
    if (this.#state !== 'Fault' && this.#state !== 'Waiting') return
    if (this.#state === 'Waiting') this.start(now, 'yes')
    else this.#becomeBackup(now, this.#settings.interval)
  }

  /**
   * Handles that another program has removed an address of an Active instance. The instance becomes Backup and waits,
   * as if another router had won.
   */
  loseAddress(now: number): void {
    if (this.#state !== 'Active') return
    this.#release(1)
    this.#becomeBackup(now, this.#settings.interval)
    this.#timerAt = now + skewTime(this.priority, this.#learned, this.#settings.version)
  }

  // Advertisements ----------------------------------------------------------------------------------------------------

  /** Handles an accepted advertisement. Returns `lost` if the instance has lost the election to the sender. */
  receive(now: number, advertisement: Advertisement): 'lost' | 'asserted' | undefined {
    if (this.#state === 'Backup') this.#receiveAsBackup(now, advertisement)
    if (this.#state === 'Active') return this.#receiveAsActive(now, advertisement)
    return undefined
  }

  /** Handles a discarded packet for the instance's VRID: restarts the timer of an Active, but not that of a Backup. */
  disturb(now: number): void {
    if (this.#state === 'Active') this.#timerAt = now + this.#period
  }

  #receiveAsBackup(now: number, { interval, priority }: Advertisement): void {
    const { preempt, preemptDelay, version } = this.#settings
    if (priority === 0) {
      this.#timerAt = now + skewTime(this.priority, this.#learned, version)
      return
    }
    const isLower = priority < this.priority
    const waits = preemptDelay > 0 && (this.#preemptsFrom === undefined || now <= this.#preemptsFrom)
    if (isLower && preempt && !waits) return
    if (version === 3) this.#learned = interval
    this.#timerAt = now + this.#down()
    this.#wants = false
    if (isLower) this.#preemptsFrom ??= now + preemptDelay
    else this.#preemptsFrom = undefined
  }

  #receiveAsActive(now: number, { interval, priority, source }: Advertisement): 'lost' | 'asserted' | undefined {
    const { answersLowerPriority, lastAdvertisement, version } = this.#settings
    const order = priority - this.priority || compareAddresses(source, this.#settings.source)
    if (order === 0) return undefined
    const twoOwners = priority === OWNER && this.priority === OWNER
    if (order > 0 || twoOwners) {
      if (lastAdvertisement) this.#port.say(this.priority)
      this.#demoted ||= twoOwners
      this.#port.setAddresses(false)
      this.#becomeBackup(now, version === 3 ? interval : this.#learned)
      return 'lost'
    }
    if (answersLowerPriority || priority === 0) this.#advertise(now)
    // keepalived does not announce over a router that resigns, although clients may have learned that router's MAC.
    if (priority === 0) return undefined
    this.announceOverCompeting(now)
    return 'asserted'
  }

  announceOverCompeting(now: number): void {
    if (this.#state === 'Active') this.#announce(now, this.#settings.onCompetingActive)
  }

  // Timers ------------------------------------------------------------------------------------------------------------

  /** Handles an expired timer of the instance. Returns true if the instance would now become Active. */
  expire(now: number): boolean {
    while ((this.#announcements[0]?.at ?? NEVER) <= now) this.#port.announce(this.#announcements.shift()?.copies ?? 0)
    const { refresh } = this.#settings
    if (refresh !== undefined && this.#refreshAt !== undefined && this.#refreshAt <= now) {
      this.#refreshAt = now + refresh.every
      this.#port.announce(refresh.copies)
    }
    if (this.#timerAt === undefined || this.#timerAt > now) return false
    if (this.#state === 'Active') this.#advertise(now)
    if (this.#state !== 'Backup') return false
    this.#wants = true
    this.#timerAt = now + this.#down()
    return true
  }

  becomeActive(now: number): void {
    this.#advertise(now)
    this.#port.setAddresses(true)
    this.#wants = false
    this.#enter('Active')
    const { announcements, refresh } = this.#settings
    this.#announce(now, announcements)
    // keepalived 2.2.7 counts the refresh from here, 2.4.3 from the second block on (VR-GARP-02).
    this.#refreshAt = refresh && now + refresh.every
  }

  /** Makes the instance Backup because its sync group has lost the election. No member sends a packet. */
  follow(now: number): void {
    if (this.#state === 'Active') this.#port.setAddresses(false)
    if (this.#state === 'Active' || this.#state === 'Backup') this.#becomeBackup(now, this.#learned)
  }

  #becomeBackup(now: number, interval: Centis): void {
    this.#settle()
    this.#learned = interval
    this.#timerAt = now + this.#down()
    this.#preemptsFrom = undefined
    if (this.#state !== 'Backup') this.#enter('Backup')
  }

  #release(times: number): void {
    for (let i = 0; i < times; i++) this.#port.say(0)
    this.#port.setAddresses(false)
  }

  #enter(state: InstanceState): void {
    this.#state = state
    this.#port.enters(state, this.priority)
  }

  /** Cancels all planned announcements of the instance (VR-GARP-05). */
  #settle(): void {
    this.#timerAt = undefined
    this.#announcements = []
    this.#refreshAt = undefined
    this.#wants = false
  }

  #advertise(now: number): void {
    this.#port.say(this.priority)
    this.#timerAt = now + this.#period
  }

  #announce(now: number, blocks: readonly Block[]): void {
    for (const { after, copies } of blocks) {
      if (copies === 0) continue
      if (after === 0) this.#port.announce(copies)
      else this.#announcements.push({ at: now + after, copies })
    }
    this.#announcements.sort((one, other) => one.at - other.at)
  }

  get #period(): number {
    return centisToMillis(this.#settings.interval)
  }

  #down(): number {
    return activeDownInterval(this.priority, this.#learned, this.#settings.version)
  }
}
