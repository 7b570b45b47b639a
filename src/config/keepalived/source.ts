/**
 * What a keepalived file reaches for beyond its own text: other files, the name of the host, chance. All of it is
 * handed in, so that the same file always means the same. This file does not know where any of it comes from.
 */

export type SourceFile = { readonly file: string; readonly text: string }

export type Inclusion = {
  /** In the order in which they are read. */
  readonly files: readonly SourceFile[]
  /** Found, and why it was not read. */
  readonly unreadable: readonly { readonly file: string; readonly reason: string }[]
}

/** `pattern` is a path with wildcards and csh braces; a relative one starts in `directory`. */
export type KeepalivedSource = (pattern: string, directory: string) => Inclusion

export type Surroundings = {
  /** What `@name` lines are compared with: option -i, or the host name up to its first dot. */
  readonly configId: string
  /** The user that scripts run as when the file names none; undefined: as the daemon. */
  readonly scriptUser: string | undefined
  /** A program without a slash, looked for as a shell would; undefined: there is none. */
  readonly programPath: (name: string) => string | undefined
  /** For ${_RANDOM}: from 0 up to, but not, 1. */
  readonly random: () => number
}

/** `/etc/keepalived/x.conf` → `/etc/keepalived`. */
export function directoryOf(file: string): string {
  const slash = file.lastIndexOf('/')
  return slash < 0 ? '.' : slash === 0 ? '/' : file.slice(0, slash)
}
