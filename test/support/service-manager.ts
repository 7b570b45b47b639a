/**
 * A service manager that waits at a datagram socket and keeps every word that it hears (sd_notify(3)). This file does
 * not know what the words mean.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { eventually } from '../../src/lab/wait.ts'

/** Node has no datagram sockets of this family. */
const LISTENER = `$| = 1; my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0] =~ s/^@/\\0/r) or die $!;
print "\\n"; while (defined $s->recv(my $word, 8192)) { print $word =~ s/\\n/|/gr, "\\n" }`

let created = 0

export class ServiceManager {
  /** Each as it came, its lines separated by "|". */
  readonly words: string[] = []
  readonly environment: { readonly NOTIFY_SOCKET: string }
  readonly #process: ChildProcess
  #listens = false

  private constructor(place: string) {
    this.environment = { NOTIFY_SOCKET: place }
    const listener = spawn('perl', ['-MIO::Socket::UNIX', '-e', LISTENER, place], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process = listener
    let rest = ''
    listener.stdout.on('data', (text) => {
      const lines = `${rest}${text}`.split('\n')
      rest = lines.pop() ?? ''
      this.#listens = true
      this.words.push(...lines.filter((line) => line !== ''))
    })
  }

  /** Below this folder, or in the abstract. */
  static async listening(folder: string, kind: 'path' | 'abstract' = 'path'): Promise<ServiceManager> {
    const name = `hf-notify-${process.pid}-${++created}`
    const manager = new ServiceManager(kind === 'path' ? join(folder, name) : `@${name}`)
    await eventually('the service manager to listen', () => manager.#listens, {
      sight: () => manager.words,
      within: 10_000,
    })
    return manager
  }

  /** Something that begins like this, among the words from position `from` on. */
  hears(beginning: string | RegExp, from = 0, within = 10_000): Promise<string> {
    const found = () =>
      this.words
        .slice(from)
        .find((word) => (typeof beginning === 'string' ? word.startsWith(beginning) : beginning.test(word)))
    return eventually(`the service manager to hear ${beginning}`, found, { sight: () => this.words, within })
  }

  close(): void {
    this.#process.kill()
  }
}
