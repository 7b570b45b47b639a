/** `holdfast simulate`: options. */
import { Option } from 'commander'
import type { Register } from '../command.ts'
import type { SimulateOptions } from '../simulate.ts'

export const registerSimulate: Register = (program, end) => {
  program
    .command('simulate')
    .description('run this engine on simulated nodes with your configurations and a list of faults (docs/simulate.md)')
    .argument('<scenario>', 'YAML: nodes with their configurations, and faults with their times')
    .option('--log', 'also print what each node does and logs')
    .addOption(
      new Option(
        '--expect',
        'for CI: also exit 1 if the failure of a health check would not move the VIP to another node',
      ).conflicts('weights'),
    )
    .option('--no-weights', 'do not try whether each health check moves its addresses')
    .option('--json', 'print JSON')
    .action(async (scenario: string, options: SimulateOptions) => {
      const { simulateCommand } = await import('../simulate.ts')
      end(simulateCommand(scenario, options))
    })
}
