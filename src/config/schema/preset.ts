/**
 * Health checks that come by a name: what the nodes of an on-premise OpenShift ask of themselves (docs/adr/0024). Decided
 * here: what is asked, how often, and what it weighs, as their own configuration has it; a check of the file with the same
 * name takes the place of one of these. This file does not know the routers, nor who writes the files.
 */
import { type Check, nameOf } from '../checks.ts'
import type { Path } from '../problem.ts'
import { healthcheckSchema } from './healthcheck.ts'
import { type Track, trackerKey } from './track.ts'

export const PRESETS = ['openshift-api', 'openshift-ingress'] as const
export type PresetName = (typeof PRESETS)[number]

/** Written by whoever knows what runs on this node; a file that is not there counts as down. */
export const PRESET_FILES = {
  iptables: '/var/run/keepalived/iptables-rule-exists',
  machineConfigServer: '/run/holdfast/agent/machine-config-server',
  defaultRouter: '/run/holdfast/agent/default-router',
} as const

/** As curl -L -k -f asks. */
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

const sentinel = (name: string, what: string, path: string): string =>
  `HTTP cannot tell whether ${what}: "${name}" is up while ${path} is there, which an agent on the node has to write; ` +
  'without it that weight is never added'

/** What nobody can ask by HTTP, and what is down for ever where nobody writes it down. */
const NOTES: Readonly<Record<PresetName, readonly string[]>> = {
  'openshift-api': [
    sentinel('openshift-iptables', 'the rules that lead the API to HAProxy are there', PRESET_FILES.iptables),
    sentinel('openshift-mcs', 'the machine-config-server runs', PRESET_FILES.machineConfigServer),
  ],
  'openshift-ingress': [
    sentinel('openshift-default-router', 'a pod of the default router is ready here', PRESET_FILES.defaultRouter),
  ],
}

export const presetNotes = (name: PresetName): readonly string[] => NOTES[name]

type Tracking = { readonly preset?: PresetName | undefined; readonly track: Track[] }
type Sections<R, G> = { readonly healthchecks: Check[]; readonly virtualRouters: R[]; readonly syncGroups: G[] }

/** What the file says stays where it stands, so that positions in it remain true; the rest comes behind. */
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

/** Where the file says that this is tracked: in its own entry, or by the preset that brings it. */
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
