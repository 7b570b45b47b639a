/** `holdfast capture`: options. */
import { InvalidArgumentError } from 'commander'
import type { Register } from '../command.ts'

type Options = { interface?: string; json?: boolean; write?: string; count?: number }

export const registerCapture: Register = (program, end) => {
  program
    .command('capture')
    .description(
      'show VRRP, ARP and Neighbor Discovery packets of this LAN, live, and why a packet is discarded; ' +
        'needs CAP_NET_RAW',
    )
    .option('-i, --interface <name>', 'interface to listen on (default: the only interface with an address)')
    .option('--json', 'print one JSON object per line')
    .option('-w, --write <file>', 'also write the packets to a pcap file')
    .option('-n, --count <lines>', 'end after this number of lines', wholeNumber)
    .action(async ({ interface: interfaceName, write, count, json = false }: Options) => {
      const { captureCommand } = await import('../capture/capture.ts')
      const { openCaptureHost } = await import('../capture/capture-host.ts')
      const { close, host } = openCaptureHost()
      end(await captureCommand({ interfaceName, write, count, json }, host))
      close()
    })
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('accepted: an integer from 1 to 999999999')
  return Number(text)
}
