/**
 * Values that the import of a keepalived file needs besides the text: other files, the host name, random numbers. The
 * caller passes all these values, so that the same file always gives the same configuration.
 */

export type SourceFile = { readonly file: string; readonly text: string }

export type Inclusion = {
  /** Included files in the order in which they are read. */
  readonly files: readonly SourceFile[]
  /** Included files that were found and could not be read. */
  readonly unreadable: readonly { readonly file: string; readonly reason: string }[]
}

/**
 * Returns the files of an include. `pattern` is a path with wildcards and csh braces; a relative path starts in
 * `directory`.
 */
export type KeepalivedSource = (pattern: string, directory: string) => Inclusion

export type Surroundings = {
  /** Text that is compared with `@name` lines: the option -i, or the host name up to its first dot. */
  readonly configId: string
  /** User that runs scripts if the keepalived file names no user. `undefined`: the user of the daemon. */
  readonly scriptUser: string | undefined
  /**
   * Returns the path of a program whose name has no slash, by searching PATH as a shell does; `undefined` if no folder
   * has the program.
   */
  readonly programPath: (name: string) => string | undefined
  /** Returns a random number, at least 0 and below 1; used for ${_RANDOM}. */
  readonly random: () => number
}

/** Returns the folder of a path: `/etc/keepalived/x.conf` gives `/etc/keepalived`. */
export function directoryOf(file: string): string {
  const slash = file.lastIndexOf('/')
  return slash < 0 ? '.' : slash === 0 ? '/' : file.slice(0, slash)
}
