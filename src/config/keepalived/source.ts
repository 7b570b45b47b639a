/**
 * What a keepalived file needs besides its own text: other files, the host name, random numbers. The caller passes all
 * of it, so that the same file always has the same result. This file does not know where the values come from.
 */

export type SourceFile = { readonly file: string; readonly text: string }

export type Inclusion = {
  /** Files in the order in which they are read. */
  readonly files: readonly SourceFile[]
  /** Files that were found and could not be read. */
  readonly unreadable: readonly { readonly file: string; readonly reason: string }[]
}

/**
 * Returns the files of an include. `pattern` is a path with wildcards and csh braces; a relative path starts in
 * `directory`.
 */
export type KeepalivedSource = (pattern: string, directory: string) => Inclusion

export type Surroundings = {
  /** Text that `@name` lines are compared with: option -i, or the host name up to its first dot. */
  readonly configId: string
  /** User of scripts if the keepalived file names no user. `undefined`: the user of the daemon. */
  readonly scriptUser: string | undefined
  /**
   * Returns the path of a program whose name has no slash, by searching PATH as a shell does; `undefined` if no folder
   * has the program.
   */
  readonly programPath: (name: string) => string | undefined
  /** Returns a random number from 0 up to, but not including, 1; used for ${_RANDOM}. */
  readonly random: () => number
}

/** Returns the folder of a path: `/etc/keepalived/x.conf` gives `/etc/keepalived`. */
export function directoryOf(file: string): string {
  const slash = file.lastIndexOf('/')
  return slash < 0 ? '.' : slash === 0 ? '/' : file.slice(0, slash)
}
