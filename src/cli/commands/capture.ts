/** `holdfast capture`: options. */
import { InvalidArgumentError } from 'commander'
import type { Register } from '../command.ts'

type Options = { interface?: string; json?: boolean; write?: string; count?: number }

export const registerCapture: Register = (program, end) => {
  program
    .command('capture')
    .description(
      'VRRP, ARP and Neighbor Discovery on this LAN, live, with the reason why a packet is discarded; ' +
        'needs CAP_NET_RAW',
    )
    .option('-i, --interface <name>', 'where to listen (default: the only interface with an address)')
    .option('--json', 'one JSON object a line')
    .option('-w, --write <file>', 'also into a pcap file')
    .option('-n, --count <lines>', 'end after so many lines', wholeNumber)
    .action(async ({ interface: interfaceName, write, count, json = false }: Options) => {
      const { captureCommand } = await import('../capture/capture.ts')
      const { openCaptureHost } = await import('../capture/capture-host.ts')
      const { close, host } = openCaptureHost()
      end(await captureCommand({ interfaceName, write, count, json }, host))
      close()
    })
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('a whole number of lines wanted')
  return Number(text)
}
