/**
 * Does the work of the operator that holds the Lease: it watches the cluster, asks kube-api through the VIPs, and
 * writes ClusterOperator. No state of this work outlives the Lease, so a new term begins with what the API shows. This
 * file decides when the state is compared and written; the decisions are in decisions/operator.
 */
import { defined } from '../../../base/defined.ts'
import { messageOf } from '../../../base/message-of.ts'
import { AGENT_LOG, type AgentLogging, repeated } from '../../../log/agent-events.ts'
import { type Address, parseAddress } from '../../../wire/address.ts'
import {
  firstObject,
  type KnownOperator,
  type OperatorIdentity,
  operatorFindings,
  operatorStatus,
} from '../../decisions/operator/cluster-operator.ts'
import type { ClusterPlan } from '../../decisions/operator/cluster-plan.ts'
import type { Migration } from '../../decisions/operator/migration.ts'
import { waitingFor } from '../../decisions/operator/operand-pod.ts'
import type { OperandSource } from '../../decisions/operator/operands.ts'
import { kubernetesEvent, type OperatorEvent } from '../../decisions/operator/operator-event.ts'
import { inForce, settingsText } from '../../decisions/operator/switch-texts.ts'
import type { Circumstances, Trouble } from '../../decisions/status/finding.ts'
import { readPublished } from '../../decisions/status/published-status.ts'
import type { ApiFailure } from '../api/api-failure.ts'
import type { ClusterClient } from '../api/cluster-client.ts'
import { askReadyz, PROBE, type ProbeOptions, VipProbe } from '../api/vip-probe.ts'
import { EventPublisher } from '../status/event-publisher.ts'
import { IntentDuty } from '../status/intent-duty.ts'
import { failedIntent } from '../status/status-duty.ts'
import { BalancerSwitchDuty } from './balancer-switch.ts'
import { ClusterView, OBJECTS_PATH, publishedIn } from './cluster-view.ts'
import { type NodeQuestions, nodeQuestions } from './node-questions.ts'
import { OperandDuty, POOLS } from './operand-duty.ts'
import type { OperatorAccount } from './operator-account.ts'
import { OperatorWriter } from './operator-writer.ts'
import { TermWriter } from './term-writer.ts'
import { WriteCounters } from './write-counters.ts'

export type TermOptions = OperatorIdentity & {
  readonly client: Pick<ClusterClient, 'ask' | 'stream'>
  /** Name of this operator. */
  readonly self: string
  readonly account: OperatorAccount
  readonly log: AgentLogging
  readonly probe?: ProbeOptions
  /**
   * Asks kube-api at an external address. `name`: name of the API in its certificate. Absent: kube-api is asked as by
   * `probe`, without a verified certificate.
   */
  readonly askExternal?: (address: Address, name: string | undefined) => Promise<string | undefined>
  readonly questions?: NodeQuestions
  /** Milliseconds for which clients may use the old address of a load balancer. */
  readonly graceMs: number
  /** Manifests and images of the static pods that the operator places; absent: it places none. */
  readonly operands?: OperandSource
  /** Milliseconds between two comparisons without a change. */
  readonly everyMs?: number
  /** Milliseconds between two requests to kube-api at an external address. */
  readonly askEveryMs?: number
}

const EVERY = 10_000
/** Number of comparisons in whose time the same status is written again. */
const WRITE_AGAIN = 6
/** Milliseconds to wait after a change, because changes arrive together. */
const GATHER = 50

/** Parts of a term that exist only where the nodes hold the VIPs. */
type Duties = { readonly intent: IntentDuty; readonly probe: VipProbe }

export class OperatorDuty {
  readonly #options: TermOptions
  readonly #view: ClusterView
  readonly #events: EventPublisher
  readonly #sender: TermWriter
  readonly #writes: WriteCounters
  readonly #writer: OperatorWriter
  readonly #switch: BalancerSwitchDuty
  readonly #operands: OperandDuty | undefined
  /** `undefined` until Infrastructure is known, and where load balancers have the addresses. */
  #duties: Duties | undefined
  #refused: Trouble | undefined
  #watchProblems = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #isCreating = false
  #ended = false

  constructor(options: TermOptions) {
    this.#options = options
    const { account, client, everyMs = EVERY, log, operands: source } = options
    this.#sender = new TermWriter(client)
    const { api } = this.#sender
    this.#writes = new WriteCounters(account, log)
    this.#events = new EventPublisher({ createEvent: (event) => this.#writes.of(api.createEvent(event), 'Event') })
    const again = { writes: this.#writes, againMs: WRITE_AGAIN * everyMs }
    this.#writer = new OperatorWriter({
      ...{ ...again, account, api, log },
      onEvent: (event) => this.#offer(event),
      onKnown: () => this.#soon(0),
    })
    this.#switch = new BalancerSwitchDuty({
      ...{ api, writes: this.#writes, questions: options.questions ?? nodeQuestions, graceMs: options.graceMs },
      askExternal: (address, name) => this.#ask(address, name),
      onPhase: (next, text) => this.#tellPhase(next, text),
      onChange: () => this.#soon(GATHER),
    })
    this.#operands = source && new OperandDuty({ ...again, api, source, onChange: () => this.#soon(GATHER) })
    this.#view = new ClusterView({
      ...{ client, pools: source && POOLS },
      onChange: () => this.#soon(GATHER),
      onPlan: (plan) => this.#open(plan),
      onObject: (object) => this.#tell(object),
      onNodes: () => this.#tellNodes(),
      onFailure: (path, failure) => this.#failed(path, failure),
      onReadable: (path) => this.#readable(path),
    })
  }

  /** Ends the term. Resolves when none of its writes is left. */
  end(): Promise<void> {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#view.end()
    this.#writer.end()
    this.#events.end()
    this.#switch.end()
    this.#operands?.end()
    this.#writes.end()
    this.#close()
    return this.#sender.end()
  }

  #failed(path: string, failure: ApiFailure): void {
    const { account, log } = this.#options
    const { kind, message, status } = failure
    account.failed(kind)
    const isKnown = this.#watchProblems.get(path) === kind
    this.#watchProblems.set(path, kind)
    const event = isKnown ? repeated(AGENT_LOG.operatorWatchFailed) : AGENT_LOG.operatorWatchFailed
    log(event, message, { path, kind })
    if (path !== OBJECTS_PATH) return
    // The view has a trouble for a refused request.
    const news = kind === 'forbidden' || kind === 'unauthorized' ? undefined : failedIntent(failure)
    if (news !== undefined) this.#duties?.intent.news(news)
    // Without the resource there is no object.
    if (status === 404) this.#view.object = undefined
  }

  #readable(path: string): void {
    this.#watchProblems.delete(path)
    if (path === OBJECTS_PATH) this.#duties?.intent.news({ kind: 'readable' })
  }

  #open(plan: ClusterPlan): void {
    this.#close()
    if (plan.elsewhere !== undefined) return
    this.#duties = {
      intent: new IntentDuty({
        ...{ apiVips: plan.apiVips, ingressVips: plan.ingressVips, onIntent: () => {} },
        ask: (address) => this.#ask(address, plan.apiInt),
        ...defined({ askEveryMs: this.#options.askEveryMs }),
      }),
      probe: new VipProbe(plan.apiVips, this.#options.probe ?? PROBE, () => this.#soon(GATHER)),
    }
    this.#duties.intent.want(true)
    this.#duties.probe.want(true)
    this.#tellNodes()
    if (this.#view.object !== 'unknown') this.#tell(this.#view.object)
  }

  /** Asks kube-api at an external address. Credentials that cannot be read are a reason like others. */
  async #ask(address: Address, name: string | undefined): Promise<string | undefined> {
    const { askExternal, probe = PROBE } = this.#options
    if (askExternal === undefined) return askReadyz(address, probe)
    return askExternal(address, name).catch(messageOf)
  }

  #close(): void {
    this.#duties?.intent.end()
    this.#duties?.probe.end()
    this.#duties = undefined
  }

  #tell(object: { readonly value: unknown } | undefined): void {
    // Perhaps another client has created the object that this operator could not create.
    if (object !== undefined) this.#refused = undefined
    this.#duties?.intent.news(object === undefined ? { kind: 'none' } : { kind: 'object', value: object.value })
  }

  #tellNodes(): void {
    const addresses = this.#view.nodes.flatMap((node) => node.addresses.map(({ address }) => parseAddress(address)))
    this.#duties?.intent.nodesAre(addresses.filter((address) => address !== undefined))
  }

  #soon(ms: number): void {
    if (this.#ended) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#turn(), ms)
    this.#timer.unref()
  }

  #turn(): void {
    const { plan } = this.#view
    const { known } = this.#writer
    if (plan !== undefined && known !== undefined) this.#decide(plan, known)
    void this.#events.send()
    this.#soon(this.#options.everyMs ?? EVERY)
  }

  #decide(plan: ClusterPlan, known: KnownOperator): void {
    const { nodes, object, pods, pools, troubles } = this.#view
    const isOn = plan.elsewhere === undefined
    const isProbed = isOn && plan.apiVips.length > 0
    if (isOn && object === undefined) void this.#create(plan)
    if (isOn && object === 'unknown' && troubles.length === 0) return
    this.#switchOn(plan)
    if (isOn && this.#switch.haproxy !== undefined) this.#operands?.want(plan, this.#switch.haproxy)
    const circumstances = this.#circumstances()
    const { result } = circumstances.probe
    // Before kube-api has answered often enough, a new term would change Available to Unknown for a moment.
    if (isProbed && (result === 'unasked' || result === 'undecided') && known.conditions.length > 0) return
    const view = {
      ...{ plan, circumstances, published: publishedIn(object) },
      troubles: [...troubles, this.#refused, this.#switch.trouble, ...(this.#operands?.troubles(pools) ?? [])].filter(
        (one) => one !== undefined,
      ),
      crashing: pods.filter(({ isCrashing, isOurs }) => isCrashing && isOurs).map(({ name }) => name),
      waitsFor: waitingFor(pods),
      rollout: this.#operands?.rollout(nodes, pods, pools) ?? [],
    }
    const epochMs = Date.now()
    const findings = operatorFindings(view, known, epochMs)
    this.#writer.want(operatorStatus(findings, known, this.#options, epochMs))
  }

  /** Continues the switch of the load balancer, as soon as a valid spec is known. */
  #switchOn(plan: ClusterPlan): void {
    const { nodes, object, pools } = this.#view
    if (this.#duties?.intent.isKnown !== true || object === undefined || object === 'unknown') return
    this.#switch.turn(object.value, this.#duties.intent.balancer, plan, nodes, pools)
  }

  #circumstances(): Circumstances {
    const nothing = { ingressDisabled: false, progressing: undefined, refused: [], notManaged: undefined }
    if (this.#duties === undefined) return { ...nothing, probe: { result: 'undecided' } }
    const { intent, probe } = this.#duties
    const { refused, ...rest } = intent.circumstances(probe.finding)
    const { state, text } = this.#switch
    return {
      ...rest,
      refused: refused.map((one) => inForce(one, intent.balancer, state)),
      progressing: text,
      notManaged: settingsText(intent.intent, state),
    }
  }

  #tellPhase({ phase }: Migration, text: string | undefined): void {
    const message = text ?? 'the switch of the load balancer is complete'
    this.#options.log(AGENT_LOG.operatorPhase, `load balancer: ${phase}: ${message}`, { phase })
    const about = { about: 'HostedNetServices', type: 'Normal', reason: `LoadBalancer${phase}` } as const
    this.#offer({ ...about, message: `${phase}: ${message}` })
  }

  async #create(plan: ClusterPlan): Promise<void> {
    if (this.#isCreating || plan.apiVips.length === 0) return
    this.#isCreating = true
    const { log } = this.#options
    const { api } = this.#sender
    const request = { method: 'POST', path: OBJECTS_PATH, body: firstObject(plan) } as const
    const written = await this.#writes.of(api.write(request), 'HostedNetServices')
    this.#isCreating = false
    if (this.#ended) return
    this.#refused = undefined
    switch (written.kind) {
      case 'done':
        log(AGENT_LOG.operatorCreated, 'HostedNetServices cluster created with the defaults', { object: 'cluster' })
        this.#offer({
          ...{ about: 'HostedNetServices', type: 'Normal', reason: 'Created' },
          ...{ message: 'created with the defaults of an installation', uid: readPublished(written.object)?.uid },
        })
        break
      case 'missing':
        this.#refused = {
          reason: 'DefinitionTooOld',
          message: 'the API has no resource HostedNetServices: apply its CustomResourceDefinition',
        }
        break
      case 'refused':
        this.#refused = { reason: 'AccessDenied', message: `HostedNetServices cannot be created: ${written.why}` }
        break
      default:
    }
  }

  #offer(event: OperatorEvent): void {
    this.#events.offer(kubernetesEvent(event, this.#options.self, Date.now()))
    this.#soon(GATHER)
  }
}
