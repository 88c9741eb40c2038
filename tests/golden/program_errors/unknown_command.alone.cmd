train --params x.yaml
