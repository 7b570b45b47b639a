/** The template of keepalived.conf on the node, executed for the configuration that the agent decided. */
import { describe, expect, test } from 'vitest'
import type { Desired } from '../../../src/cluster/decisions/engine/desired.ts'
import { keepalivedText } from '../../../src/cluster/decisions/engine/keepalived-text.ts'
import { type RenderedText, renderedText } from '../../../src/cluster/decisions/engine/rendered-text.ts'
import { vipPairs } from '../../../src/cluster/decisions/engine/vip-pairs.ts'
import { read } from '../../support/keepalived-text.ts'
import { renderedNode } from '../../support/rendered-node.ts'

/** A template of another release: other priorities, an own script, sync groups. The agent knows none of these. */
const TEMPLATE = `vrrp_script chk_new {
    script "/usr/bin/true"
    interval 3
}
vrrp_sync_group EVERYTHING {
    group {
        {{- range $i, $config := .Configs }}
        {{ .Cluster.Name }}_API_{{$i}}
        {{- end }}
    }
}
{{ range $i, $config := .Configs }}
{{- $own := .NonVirtualIP }}
vrrp_instance {{ .Cluster.Name }}_API_{{$i}} {
    state BACKUP
    interface {{ .VRRPInterface }}
    virtual_router_id {{ .Cluster.APIVirtualRouterID }}
    priority 41
    advert_int 1
    {{- if .EnableUnicast }}
    unicast_src_ip {{ $own }}
    unicast_peer {
        {{- range .LBConfig.Backends }}{{ if ne $own .Address }}
        {{ .Address }}{{ end }}{{ end }}
    }
    {{- end }}
    virtual_ipaddress {
        {{ .Cluster.APIVIP }}/{{ .Cluster.VIPNetmask }}
    }
}
vrrp_instance {{ .Cluster.Name }}_INGRESS_{{$i}} {
    interface {{ .VRRPInterface }}
    virtual_router_id {{ .Cluster.IngressVirtualRouterID }}
    priority 21
    advert_int 1
    {{- if .EnableUnicast }}
    unicast_src_ip {{ $own }}
    unicast_peer {
        {{- range .IngressConfig.Peers }}{{ if ne $own . }}
        {{ . }}{{ end }}{{ end }}
    }
    {{- end }}
    virtual_ipaddress {
        {{ .Cluster.IngressVIP }}/{{ .Cluster.VIPNetmask }}
    }
}
{{ end }}`

function executed(template: string, desired: Desired): RenderedText {
  const vips = (service: string) => desired.instances.filter((each) => each.service === service).map(({ vip }) => vip)
  return renderedText(desired, {
    ...{ path: '/config/keepalived.conf.tmpl', text: template, platform: '', topology: '', domain: '', hostname: 'm0' },
    pairs: vipPairs({ api: vips('api'), ingress: vips('ingress') }).pairs,
    ports: { api: 6443, balancer: 9445, statistics: 29445 },
  })
}

/** Returns the virtual routers that keepalived's reader finds in a rendered text. */
function routersOf(rendered: RenderedText) {
  if ('problem' in rendered) throw new Error(rendered.problem)
  const parsed = read(rendered.text)
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  return parsed.config
}

describe('the executed template of keepalived.conf', () => {
  test.each(['master', 'master-dualstack', 'master-multicast'])(
    'has the VRIDs, VIPs, source and peers that the agent decided, and everything else from the template: %s',
    (name) => {
      const desired = renderedNode(name)
      const config = routersOf(executed(TEMPLATE, desired))
      const own = routersOf({ text: keepalivedText(desired) })
      const facts = ({ virtualRouters }: typeof config) =>
        virtualRouters
          .map(({ name: router, vrid, addresses, transport }) => ({ router, vrid, addresses, transport }))
          .toSorted((one, other) => one.router.localeCompare(other.router))
      // keepalived's keyword for a label and the prefix length are the template's.
      const plain = (text: unknown) =>
        JSON.parse(JSON.stringify(text).replaceAll(/"label":"\w+",?|,"label":"\w+"/g, ''))
      expect(plain(facts(config))).toEqual(plain(facts(own)))
      expect(new Set(config.virtualRouters.map(({ priority }) => priority))).toEqual(new Set([41, 21]))
      expect(config.syncGroups.map((group) => group.name)).toEqual(['EVERYTHING'])
    },
  )

  test('a node without virtual routers gets a file without them, whatever the template says', () => {
    const none = { ...renderedNode('master'), instances: [], groups: [] }
    expect(executed('{{ unknown }}', none)).toEqual({ text: keepalivedText(none) })
  })
})

describe('a template that is refused', () => {
  const problem = (template: string, desired = renderedNode('master')) => {
    const rendered = executed(template, desired)
    return 'problem' in rendered ? rendered.problem : `accepted: ${rendered.text}`
  }

  test.each([
    ['{{ template "x" }}', /^\/config\/keepalived\.conf\.tmpl: line 1, column 4: cannot use "template", expected if, /],
    ['\n  {{ lookup .Cluster }}', /: line 2, column 6: cannot use function lookup, expected and, or, /],
    ['{{ .Cluster.NewField }}', /: line 1, column 4: cannot use field NewField, expected Name, Domain, /],
    ['vrrp_instance x {', /: cannot use the executed template: /],
    ['', /: cannot use the executed template with the VIPs none, expected 192\.168\.111\.4, 192\.168\.111\.5$/],
  ])('%j is refused with the place or the reason', (template, reason) => {
    expect(problem(template)).toMatch(reason)
  })

  test('a template that gives the node a VIP which the agent did not decide is refused', () => {
    const desired = renderedNode('master')
    const api = { ...desired, instances: desired.instances.filter(({ service }) => service === 'api') }
    expect(problem(TEMPLATE.replaceAll('.Cluster.IngressVIP ', '"192.168.111.77" '), api)).toMatch(
      /: cannot use the executed template with the VIPs 192\.168\.111\.5, 192\.168\.111\.77, expected 192\.168\.111\.5$/,
    )
  })
})
