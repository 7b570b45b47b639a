/** `holdfast simulate`: options. */
import { Option } from 'commander'
import type { Register } from '../command.ts'
import type { SimulateOptions } from '../simulate.ts'

export const registerSimulate: Register = (program, end) => {
  program
    .command('simulate')
    .description(
      'what would happen: this engine on simulated nodes with your configurations and a list of faults (docs/simulate.md)',
    )
    .argument('<scenario>', 'YAML: nodes with their configurations, and faults with their times')
    .option('--log', 'what each node does and logs as well')
    .addOption(
      new Option('--expect', 'for CI: exit 1 also when a failed check would not move its address').conflicts('weights'),
    )
    .option('--no-weights', 'do not try whether each health check moves its addresses')
    .option('--json', 'as JSON')
    .action(async (scenario: string, options: SimulateOptions) => {
      const { simulateCommand } = await import('../simulate.ts')
      end(simulateCommand(scenario, options))
    })
}
