/**
 * Predefined health checks: those that the nodes of an on-premise OpenShift cluster run (docs/adr/0024). This file
 * decides the targets, intervals and weights of these checks, as in OpenShift's own configuration. A check of the
 * configuration with the same name replaces a predefined one. This file knows nothing about the routers, and which
 * program writes the files.
 */
import { type Check, nameOf } from '../checks.ts'
import type { Path } from '../problem.ts'
import { healthcheckSchema } from './healthcheck.ts'
import { type Track, trackerKey } from './track.ts'

export const PRESETS = ['openshift-api', 'openshift-ingress'] as const
export type PresetName = (typeof PRESETS)[number]

/** Files that an agent on the node writes. A file that does not exist counts as down. */
export const PRESET_FILES = {
  iptables: '/var/run/keepalived/iptables-rule-exists',
  machineConfigServer: '/run/holdfast/agent/machine-config-server',
  defaultRouter: '/run/holdfast/agent/default-router',
} as const

/** Options of an HTTP check that make it behave like curl -L -k -f. */
const curl = { redirects: true, tls: { verify: false } }
const api = { interval: '2s', timeout: '1.9s', rise: 3, fall: 3 }
const ingress = { interval: '1s', timeout: '900ms', rise: 3, fall: 2 }

const CHECKS: Readonly<Record<PresetName, readonly Readonly<Record<string, unknown>>[]>> = {
  'openshift-api': [
    { name: 'openshift-haproxy', http: 'http://localhost:9444/haproxy_ready', ...curl, ...api },
    { name: 'openshift-iptables', file: PRESET_FILES.iptables, ...api },
    { name: 'openshift-lb', all: ['openshift-haproxy', 'openshift-iptables'] },
    { name: 'openshift-readyz', http: 'https://localhost:6443/readyz', ...curl, ...api },
    { name: 'openshift-both', any: ['openshift-lb', 'openshift-readyz'] },
    { name: 'openshift-mcs', file: PRESET_FILES.machineConfigServer, ...api },
  ],
  'openshift-ingress': [
    { name: 'openshift-ingress', http: 'http://localhost:1936/healthz', ...curl, ...ingress },
    { name: 'openshift-ingress-ready', http: 'http://localhost:1936/healthz/ready', ...curl, ...ingress },
    {
      name: 'openshift-default-router',
      file: PRESET_FILES.defaultRouter,
      ...ingress,
      interval: '5s',
      timeout: '4.9s',
    },
  ],
}

const TRACK: Readonly<Record<PresetName, readonly Track[]>> = {
  'openshift-api': [
    { healthcheck: 'openshift-lb', weight: 20, reverse: false },
    { healthcheck: 'openshift-both', weight: 5, reverse: false },
    { healthcheck: 'openshift-mcs', weight: 3, reverse: false },
  ],
  'openshift-ingress': [
    { healthcheck: 'openshift-ingress', weight: 0, reverse: false },
    { healthcheck: 'openshift-ingress-ready', weight: 10, reverse: false },
    { healthcheck: 'openshift-default-router', weight: 50, reverse: false },
  ],
}

const fileNote = (name: string, what: string, path: string): string =>
  `HTTP cannot tell whether ${what}. Check "${name}" is up while the file ${path} exists. An agent on the node must write it; ` +
  'without the file, the weight of the check is never added'

/**
 * Notes about checks that HTTP cannot do. A check that HTTP cannot do reads a file, and stays down if no agent writes
 * that file.
 */
const NOTES: Readonly<Record<PresetName, readonly string[]>> = {
  'openshift-api': [
    fileNote('openshift-iptables', 'the rules that send API traffic to HAProxy exist', PRESET_FILES.iptables),
    fileNote('openshift-mcs', 'the machine-config-server runs', PRESET_FILES.machineConfigServer),
  ],
  'openshift-ingress': [
    fileNote('openshift-default-router', 'a pod of the default router is ready here', PRESET_FILES.defaultRouter),
  ],
}

export const presetNotes = (name: PresetName): readonly string[] => NOTES[name]

type Tracking = { readonly preset?: PresetName | undefined; readonly track: Track[] }
type Sections<R, G> = { readonly healthchecks: Check[]; readonly virtualRouters: R[]; readonly syncGroups: G[] }

/**
 * Adds the checks and trackers of the presets. Entries of the configuration keep their index, so their positions stay
 * correct; added entries come last.
 */
export function expandPresets<R extends Tracking, G extends Tracking>(config: Sections<R, G>): Sections<R, G> {
  const { healthchecks, virtualRouters, syncGroups } = config
  const used = PRESETS.filter((name) => [...virtualRouters, ...syncGroups].some(({ preset }) => preset === name))
  const written = new Set(healthchecks.map(nameOf))
  const added = used.flatMap(checksOfPreset).filter((check) => !written.has(nameOf(check)))
  return {
    healthchecks: [...healthchecks, ...added],
    virtualRouters: virtualRouters.map(withTrack),
    syncGroups: syncGroups.map(withTrack),
  }
}

/** Returns the path of a tracker: the path of its own entry, or of the key `preset` that added it. */
export function trackerPath({ preset, track }: Readonly<Tracking>, path: Path, index: number, key?: string): Path {
  const tracker = track[index]
  if (preset !== undefined && tracker !== undefined && TRACK[preset].includes(tracker)) return [...path, 'preset']
  return [...path, 'track', index, ...(key === undefined ? [] : [key])]
}

export const checksOfPreset = (name: PresetName): readonly Check[] =>
  CHECKS[name].map((keys) => healthcheckSchema.parse(keys))

function withTrack<T extends Tracking>(tracking: T): T & { track: Track[] } {
  const { preset, track } = tracking
  if (preset === undefined) return tracking
  const written = new Set(track.map(trackerKey))
  return { ...tracking, track: [...track, ...TRACK[preset].filter((tracker) => !written.has(trackerKey(tracker)))] }
}
