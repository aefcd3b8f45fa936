#!/bin/bash
#SBATCH --output=%u.%x.%j.%A.%a.%N.%n.%t.%s.%%.out
echo written
