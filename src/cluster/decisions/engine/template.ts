/**
 * Reads the cluster's template of keepalived.conf. Decided here: which of its content the agent needs. The machine config
 * operator writes sync groups into the template, and only there does a node find out that they are wanted. Refuses to
 * execute the template: keepalived-text.ts has its result.
 */
import { withoutComments } from './mode.ts'
import { API_SCRIPTS, INGRESS_SCRIPTS } from './upstream-words.ts'

export type TemplateFindings = {
  /** The VIPs of both families of a service form a sync group. */
  readonly grouped: boolean
  /** Scripts, by name and by command, that keepalived-text.ts does not write. */
  readonly unknown: readonly string[]
}

const KNOWN: ReadonlySet<string> = new Set(
  [...API_SCRIPTS, ...INGRESS_SCRIPTS].flatMap((one) => [one.name, one.script]),
)

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
