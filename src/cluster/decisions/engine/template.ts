/**
 * Reads the cluster's template of keepalived.conf, from which the agent needs two facts: whether sync groups are used,
 * and whether there are unknown scripts. Only the template shows that a node should use sync groups. The template is
 * not executed: keepalived-text.ts writes the same text.
 */
import { withoutComments } from './mode.ts'
import { API_SCRIPTS, INGRESS_SCRIPTS } from './upstream-names.ts'

export type TemplateFindings = {
  /** True if the VIPs of both families of a service form a sync group. */
  readonly grouped: boolean
  /** Names and commands of the template's scripts that keepalived-text.ts does not write. */
  readonly unknown: readonly string[]
}

const KNOWN: ReadonlySet<string> = new Set(
  [...API_SCRIPTS, ...INGRESS_SCRIPTS].flatMap((one) => [one.name, one.script]),
)

/** Reads the cluster's template of keepalived.conf. */
export function readTemplate(template: string): TemplateFindings {
  const text = withoutComments(template)
  const scripts = [...text.matchAll(/\bvrrp_script\s+([^\s{]+)|\bscript\s+"([^"]*)"/g)].map(
    ([, name, command]) => name ?? command,
  )
  return {
    grouped: text.includes('vrrp_sync_group'),
    unknown: [...new Set(scripts.flatMap((script) => (script === undefined || KNOWN.has(script) ? [] : script)))],
  }
}
