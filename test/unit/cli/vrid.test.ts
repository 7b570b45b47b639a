import { describe, expect, test } from 'vitest'
import { vridCommand } from '../../../src/cli/vrid.ts'
import { type Vrids, vridsOf } from '../../../src/cluster/decisions/engine/vrid.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

describe('VRIDs as runtimecfg has them', () => {
  test.each(clusterCases<{ clusterName: string }, Vrids>('vrids').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted, expectError }) => {
      const found = vridsOf(input.clusterName)
      if (expectError === true) expect(found).toBeUndefined()
      else expect(found).toEqual({ api: wanted?.api, ingress: wanted?.ingress })
    },
  )

  test('what was seen in the field', () => {
    expect(vridsOf('vmware')).toEqual({ api: 109, ingress: 124 })
    expect(vridsOf('kni')).toEqual({ api: 71, ingress: 182 })
  })
})

describe('holdfast vrid', () => {
  const none = { beside: [] }

  test('prints the lines of runtimecfg vr-ids', () => {
    const { exitCode, stdout } = vridCommand('ostest', none)
    expect(stdout).toBe('APIVirtualRouterID: 14\nIngressVirtualRouterID: 93\n')
    expect(exitCode).toBe(0)
  })

  test.each(['', '  '])('refuses the name "%s"', (name) => {
    const { exitCode, stdout, stderr } = vridCommand(name, none)
    expect([exitCode, stdout, stderr]).toEqual([64, '', 'holdfast: name of a cluster: required, not empty\n'])
    expect(vridCommand('ostest', { beside: [name] }).exitCode).toBe(64)
  })

  test('takes others instead', () => {
    expect(vridCommand('ostest', { ...none, ingress: '255' }).stdout).toBe(
      'APIVirtualRouterID: 14\nIngressVirtualRouterID: 255\n',
    )
    expect(vridCommand('ostest', { ...none, api: '93' }).stderr).toBe(
      'holdfast: API and ingress cannot both have VRID 93\n',
    )
  })

  test.each(['0', '256', '-1', '1.5', '0x10', ''])('refuses the VRID "%s"', (word) => {
    const { exitCode, stderr } = vridCommand('ostest', { ...none, api: word })
    expect(exitCode).toBe(64)
    expect(stderr).toContain(`--api: cannot use "${word}", expected an integer`)
  })

  test('names what it has in common with the clusters beside it', () => {
    const { exitCode, stdout } = vridCommand('kni', { beside: ['edge-01', 'ostest'] })
    expect(stdout.split('\n').slice(2)).toEqual([
      'beside edge-01: VRID 71 is its api and our api',
      'beside edge-01: VRID 182 is its ingress and our ingress',
      'beside ostest: no VRID in common',
      '',
    ])
    expect(exitCode).toBe(1)
    // cnf11's ingress is cnf10's API.
    expect(vridCommand('cnf11', { beside: ['cnf10'] }).stdout).toContain('147 is its api and our ingress')
    expect(JSON.parse(vridCommand('kni', { beside: ['edge-01'], json: true }).stdout)).toMatchObject({
      name: 'kni',
      api: 71,
      beside: [{ name: 'edge-01', collisions: [{ vrid: 71, ours: 'api', theirs: 'api' }, { vrid: 182 }] }],
    })
  })
})
