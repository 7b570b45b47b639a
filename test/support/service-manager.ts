/**
 * Imitates a service manager: listens on a datagram socket and stores every message that it receives (sd_notify(3)).
 * This file does not know what a message means.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { eventually } from '../../src/lab/wait.ts'

/** Perl program that listens on the socket, because Node has no datagram sockets for unix addresses. */
const LISTENER = `$| = 1; my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0] =~ s/^@/\\0/r) or die $!;
print "\\n"; while (defined $s->recv(my $word, 8192)) { print $word =~ s/\\n/|/gr, "\\n" }`

let created = 0

export class ServiceManager {
  /** Messages in the order of their arrival. The lines of a message are joined with "|". */
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

  /** Creates the socket as a file below `folder`, or as an abstract address. */
  static async listening(folder: string, kind: 'path' | 'abstract' = 'path'): Promise<ServiceManager> {
    const name = `hf-notify-${process.pid}-${++created}`
    const manager = new ServiceManager(kind === 'path' ? join(folder, name) : `@${name}`)
    await eventually('the service manager to listen', () => manager.#listens, {
      sight: () => manager.words,
      within: 10_000,
    })
    return manager
  }

  /**
   * Resolves with the first message that begins with, or matches, `beginning`. Only messages from position `from` on
   * count. Throws after `within` ms.
   */
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
