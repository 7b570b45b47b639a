/**
 * Finds the Kubernetes resource of a request to an API server by the request's path. This file does not know which
 * resources exist.
 */
import type { Collection } from './store.ts'

export type ResourceAddress = {
  readonly collection: Collection
  readonly apiVersion: string
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/**
 * Returns the resource of a path such as /api/v1/nodes/n1 or /apis/GROUP/VERSION/namespaces/NS/RESOURCE/NAME/status;
 * `undefined` for any other path.
 */
export function resourceAddress(path: string): ResourceAddress | undefined {
  const words = path.split('/').filter(Boolean).map(decodeURIComponent)
  const group = words[0] === 'api' ? 1 : words[0] === 'apis' ? 2 : 0
  if (group === 0 || words.length < group + 2) return undefined
  const apiVersion = words.slice(1, group + 1).join('/')
  const rest = words.slice(group + 1)
  const isNamespaced = rest[0] === 'namespaces' && rest.length > 2
  const namespace = isNamespaced ? rest[1] : undefined
  const [resource = '', name, subresource] = isNamespaced ? rest.slice(2) : rest
  return { collection: `${apiVersion}/${resource}`, apiVersion, resource, namespace, name, subresource }
}

/**
 * Returns true if an object matches a selector such as `a=b,c!=d,e,!f`. `labelled` returns the value of a label or
 * field. A field selector only knows `=` and `!=`.
 */
export function selects(selector: string | null, labelled: (key: string) => string | undefined): boolean {
  if (selector === null || selector === '') return true
  return selector.split(',').every((term) => {
    const [, key = '', operator, wanted] = /^([^=!]+?)\s*(==|=|!=)\s*(.*)$/.exec(term) ?? []
    if (operator === undefined)
      return term.startsWith('!') ? labelled(term.slice(1)) === undefined : labelled(term) !== undefined
    return (labelled(key) === wanted) === (operator !== '!=')
  })
}
