#SBATCH -J none
echo hello
