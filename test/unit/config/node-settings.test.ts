/** Settings of the command line for an engine whose configuration is handed over, whatever that configuration says. */
import { expect, test } from 'vitest'
import { apiOverride } from '../../../src/config/api-options.ts'
import type { Config } from '../../../src/config/config.ts'
import { type NodeSettings, withSettings } from '../../../src/config/node-settings.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'

function settled(text: string, settings: NodeSettings): Pick<Config, 'runDirectory' | 'api' | 'journal'> {
  const parsed = parseConfig(`${text}\nvirtualRouters: []`)
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => message).join())
  return withSettings(parsed.config, settings)
}

test('a configuration with another run directory, or without one, uses that of the command line', () => {
  for (const text of ['', 'runDirectory: /somewhere', 'runDirectory: /run/hf/'])
    expect(settled(text, { runDirectory: '/run/hf' }), text).toMatchObject({
      runDirectory: '/run/hf',
      api: { socket: '/run/hf/holdfast.sock' },
      journal: { file: '/run/hf/events.jsonl' },
    })
})

test('a path outside of the run directory stays', () => {
  const text = 'api: { socket: /own/h.sock }\njournal: { file: false }'
  expect(settled(text, { runDirectory: '/run/hf' })).toMatchObject({
    api: { socket: '/own/h.sock' },
    journal: { file: false },
  })
})

test('the listen address is that of the command line, otherwise that of the configuration', () => {
  const api = apiOverride({ listen: '127.0.0.1:1234' })
  if (typeof api === 'string') throw new Error(api)
  const text = 'api: { listen: 127.0.0.1:99, metricsCompat: keepalived-exporter }'
  expect(settled(text, { api }).api).toMatchObject({
    listen: { port: 1234 },
    metricsCompat: 'keepalived-exporter',
    socket: '/run/holdfast/holdfast.sock',
  })
  expect(settled(text, {}).api.listen).toMatchObject({ port: 99 })
})
