/**
 * Finds the token files that the users of a kubeconfig name (`tokenFile`). client-go reads this field, and
 * @kubernetes/client-node does not. No file is read here.
 */
import { parse } from 'yaml'
import { z } from 'zod'

const Kubeconfig = z.object({
  users: z.array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() })),
})

/**
 * Returns the path of the token file for each user that has one. Returns an empty map if the text is no kubeconfig, because the
 * reader of the kubeconfig reports that.
 */
export function tokenFilesIn(text: string): ReadonlyMap<string, string> {
  const { data } = Kubeconfig.safeParse(parse(text))
  return new Map(
    (data?.users ?? []).flatMap(({ name, user }) => (user?.tokenFile ? [[name, user.tokenFile] as const] : [])),
  )
}
