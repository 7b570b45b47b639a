/** Decides which text is a host name in DNS (RFC 1123 §2.1). Pure. */

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const LONGEST_NAME = 253

/** Tells whether the text is one label of a host name: letters, digits and "-", at most 63 of them. */
export const isLabel = (text: string): boolean => LABEL.test(text)

/** Tells whether the text is a host name of one or more labels, without a dot at its end. */
export const isHostName = (text: string): boolean => text.length <= LONGEST_NAME && text.split('.').every(isLabel)

/** Returns NAME.DOMAIN, the domain in which all names of a cluster are. */
export const clusterDomain = ({ name, domain }: { readonly name: string; readonly domain: string }): string =>
  `${name}.${domain}`
